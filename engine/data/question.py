"""A question with choices, the right one of them, and the explanation that leads to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question with its choices, the index of the right one, and the explanation that leads to it.

    labels: what an answer says for each choice, one token each; empty where it says the choice's letter. level: how
    hard the question is, 1 the easiest, 0 where nobody knows.
    """

    pid: str
    question: str
    choices: tuple[str, ...]
    answer: int
    hint: str
    subject: str
    topic: str
    explanation: str
    labels: tuple[str, ...] = ()
    level: int = 0

    @property
    def length(self) -> int:
        """Characters of all its parts."""
        return sum(map(len, (self.question, self.hint, self.explanation, *self.choices)))
