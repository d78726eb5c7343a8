"""Reads a sentence about the change of a behavior as a referee does, and strikes what is untrue of it."""

import re
from collections.abc import Iterator

from engine.question.behavior import Behavior

UP, DOWN = 1, -1
VERBS = {"raises": UP, "raise": UP, "raising": UP, "lowers": DOWN, "lower": DOWN, "lowering": DOWN}
MOVES = {"rises": UP, "is higher": UP, "falls": DOWN, "is lower": DOWN}
SIDES = {"supports": UP, "support": UP, "supported": UP, "opposes": DOWN, "oppose": DOWN, "opposed": DOWN}
LOSS = re.compile(r"\b(?:query|response|explanation|trusted) loss\b", re.IGNORECASE)


def plain(text: str) -> str:
    """Without Markdown's stars and true minus signs, on one line."""
    return " ".join(text.replace("*", "").replace("−", "-").split())


def struck(text: str, behavior: Behavior, change: float) -> list[str]:
    """What is untrue in `text` where the value of `behavior` changed by `change`, above or below zero: every word for a
    direction has to fit it, and no number is said to be the loss itself."""
    said, sign = plain(text), UP if change > 0 else DOWN
    name = behavior.quantity or behavior.title
    said = said.replace(f"{name} (minus the {behavior.minus})", name)
    return [*_of(said, rf"(?:mean )?{re.escape(name)}", sign), *_of_the_loss(said, behavior, sign),
            *_of_the_side(said, sign)]


def _of(said: str, name: str, sign: int) -> Iterator[str]:
    """Words that move `name` the other way than `sign`."""
    for word, way in VERBS.items():
        if way != sign and (found := re.search(rf"\b{word} (?:the |their )?{name}\b", said)):
            yield found.group()
    for word, way in MOVES.items():
        if way != sign and (found := re.search(rf"\b(?:the )?{name} {word}\b", said)):
            yield found.group()


def _of_the_loss(said: str, behavior: Behavior, sign: int) -> Iterator[str]:
    """A loss stands only where it is said to move against the value."""
    if behavior.minus:
        yield from _of(said, re.escape(behavior.minus), -sign)
    for found in LOSS.finditer(said):
        before, after = said[:found.start()], said[found.end():]
        verb = re.search(r"\b(\w+) the $", before)
        if not (verb and verb.group(1) in VERBS) and not re.match(rf" (?:{'|'.join(MOVES)})\b", after):
            yield f"…{before[-30:]}{found.group()}{after[:30]}…"


def _of_the_side(said: str, sign: int) -> Iterator[str]:
    for word, way in SIDES.items():
        if way != sign and re.search(rf"\b{word}\b", said):
            yield word
