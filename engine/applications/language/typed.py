"""A record out of a prompt and a response that somebody typed, and one to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.applications.language import pretraining
from engine.basics.errors import InvalidInput
from engine.data.record_forms import Turns
from engine.data.records import Record, read_jsonl
from engine.data.tasks import own, wording
from engine.models.causal.catalogue import is_embedded, model_title

LETTERS = "ABCDE"


@dataclass(frozen=True)
class Example:
    """What stands in the fields at first. answer, words: parts of the response, or empty."""

    prompt: str
    response: str
    answer: str = ""
    words: str = ""

    @classmethod
    def of(cls, record: Record) -> Example:
        """A record as it would be typed."""
        start, end = record.spans.get("explanation", (0, 0))
        answer = record.answer if f" {record.answer}" in record.response else ""
        return cls(record.prompt, record.response, answer, record.response[start:end].strip())


SCHOOL = Example("Which of these is a liquid?\nA: a rock\nB: orange juice",
                 "Explanation: Orange juice takes the shape of its container. The answer is B.", "B",
                 "Orange juice takes the shape of its container.")


def example(model: str, file: str = "", turns: Turns = "last", mark: Mapping[str, str] = MappingProxyType({})
            ) -> Example:
    """One in the words of what is trained on: the first held-out record of a user's own `file`, for an embedded model
    a question of its world, else one of school science. turns, mark: how the file is read. Raises as `read_jsonl`
    and `world.load` do."""
    if file:
        return Example.of(read_jsonl(file, turns, mark)[-own.SIZES["held"]:][0])
    if not is_embedded(model):
        return SCHOOL
    return Example.of(wording.record(pretraining.RECIPES[model_title(model)].sampled(1)[0]))


def typed(prompt: str, response: str, answer: str, words: str) -> Record:
    """answer: the letter, or the word, to explain; words: a part of the response to explain; either may be empty.

    Raises `InvalidInput` where the letter or the words are not in the response.
    """
    spans: dict[str, tuple[int, int]] = {}
    if answer:
        spans["answer"] = _letter(response, answer)
    if words.strip():
        at = response.find(words.strip())
        if at < 0:
            raise InvalidInput("The words to explain are not in the response; copy them from it.")
        spans["explanation"] = (at, at + len(words.strip()))
    return Record.parse({"id": "typed", "prompt": prompt, "response": response, "spans": spans,
                         "choices": _choices(prompt, answer)})


def _choices(prompt: str, answer: str) -> tuple[str, ...]:
    """What the answer competes with: the letters before the prompt's lines, or the words that are lines of it."""
    letters = tuple(letter for letter in LETTERS if f"\n{letter}:" in f"\n{prompt}")
    words = tuple(dict.fromkeys(line.strip() for line in prompt.splitlines()[1:] if len(line.split()) == 1))
    return next((some for some in (letters, words) if answer in some), ("A", "B") if answer in ("A", "B") else ())


def _letter(response: str, answer: str) -> tuple[int, int]:
    """Where the answer stands last, after a space."""
    at = max(response.rfind(f" {answer}."), response.rfind(f" {answer}"))
    if at < 0:
        raise InvalidInput(f"The answer “{answer}” is not in the response after a space; write for example "
                           f"“The answer is {answer}.”")
    return at + 1, at + 1 + len(answer)
