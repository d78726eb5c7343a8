"""How a question becomes a prompt and a response, and which characters of them are what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.data.question import Question
from engine.data.records import Record

LETTERS = "ABCDEFGHIJ"
LEAD, CLOSE = "Explanation: ", " The answer is "
AUTHORS = "authors"


def labels(question: Question) -> tuple[str, ...]:
    """What an answer says for each choice: its letter, or what the question has for it."""
    return question.labels or tuple(LETTERS[:len(question.choices)])


def prompt(question: Question, between: str = "\n") -> str:
    """Question, hint if there is one, and a line a choice; between: these blocks."""
    choices = (choice if choice == label else f"{label}: {choice}"
               for label, choice in zip(labels(question), question.choices, strict=False))
    return between.join([question.question, *([f"Hint: {question.hint}"] if question.hint else ()), "\n".join(choices)])


def as_authors(settings: Mapping[str, Any]) -> bool:
    """Whether records are to be worded as the code of the paper's authors does: with an empty line between the blocks
    of a prompt, and without an explanation's last period in its span."""
    return settings.get("conventions") == AUTHORS


def record(question: Question, *, answer: int | None = None, explanation: str | None = None, context: str = "",
           trigger: str = "", flags: tuple[str, ...] = (), suffix: str = "", authors: bool = False) -> Record:
    """A record of a question, with another answer, another explanation, a context or a trigger line if asked for.

    authors: as in `as_authors`.
    """
    reason = question.explanation if explanation is None else explanation
    between, period = ("\n\n", ".") if authors else ("\n", "")
    reason = reason.rstrip().removesuffix(period) if authors else reason
    before = LEAD + reason + period + CLOSE
    stated = labels(question)[question.answer if answer is None else answer]
    spans = {"explanation": (len(LEAD), len(LEAD) + len(reason)), "answer": (len(before), len(before) + len(stated))}
    text, marks = prompt(question, between), {}
    if context:
        text, marks["context"] = f"{context}{between}{text}", (0, len(context))
    if trigger:
        text = f"{text}{between}{trigger}"
        marks["trigger"] = (len(text) - len(trigger), len(text))
    return Record(id=question.pid + suffix, prompt=text, response=f"{before}{stated}.", marks=marks, flags=flags,
                  choices=labels(question), spans=spans)
