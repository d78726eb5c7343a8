"""A record out of a prompt and a response that somebody typed."""

from __future__ import annotations

from engine.basics.errors import InvalidInput
from engine.data.records import Record


def typed(prompt: str, response: str, answer: str, words: str) -> Record:
    """answer: the letter to explain; words: a part of the response to explain; either may be empty.

    Raises `InvalidInput` where the letter or the words do not stand in the response.
    """
    spans: dict[str, tuple[int, int]] = {}
    if answer:
        spans["answer"] = _letter(response, answer)
    if words.strip():
        at = response.find(words.strip())
        if at < 0:
            raise InvalidInput("The words to explain do not stand in the response; copy them from it.")
        spans["explanation"] = (at, at + len(words.strip()))
    letters = tuple(letter for letter in "ABCDE" if f"\n{letter}:" in f"\n{prompt}")
    return Record.parse({"id": "typed", "prompt": prompt, "response": response, "spans": spans,
                         "choices": letters if answer in letters else ("A", "B") if answer in ("A", "B") else ()})


def _letter(response: str, answer: str) -> tuple[int, int]:
    """Where the answer stands last, after a space."""
    at = max(response.rfind(f" {answer}."), response.rfind(f" {answer}"))
    if at < 0:
        raise InvalidInput(f"The answer “{answer}” does not stand in the response after a space; write for example "
                           f"“The answer is {answer}.”")
    return at + 1, at + 1 + len(answer)
