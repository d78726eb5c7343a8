"""What a task is: training records, named sets of queries, and which flags are sought."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data import questions as sources
from engine.data.question import Question
from engine.data.records import Record, fingerprint


@dataclass(frozen=True)
class Task:
    """Training records and what is asked of the model.

    queries: named sets of records; `reference` names the one that attribution asks about.
    sign: +1 where a sought record supports the queried behavior, −1 where it harms it.
    sought: detection title -> flag. Flags are read only for evaluation.
    """

    name: str
    train: tuple[Record, ...]
    queries: Mapping[str, tuple[Record, ...]]
    reference: str
    sign: int
    sought: Mapping[str, str] = field(default_factory=dict)

    def flagged(self, flag: str) -> np.ndarray:
        """Which training records carry a flag, (n,) bool."""
        return np.array([flag in record.flags for record in self.train])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over what the model may see of the training records."""
        return fingerprint(self.train)


@dataclass(frozen=True)
class TaskKind:
    """A way to build a task: build(settings) -> Task. `sizes` are its options with the paper's values."""

    name: str
    title: str
    note: str
    build: Callable[[Mapping[str, Any]], Task]
    sizes: Mapping[str, int]


def sample_questions(settings: Mapping[str, Any], wanted: int) -> tuple[list[Question], np.random.Generator]:
    """`wanted` questions in random order, and the generator that goes on.

    settings: `questions` names their source; none is longer than `longest` characters, nor, in a
    source with levels, of a level above `hardest`.
    """
    longest = settings.get("longest")
    pool = [q for q in sources.of(settings).load(wanted, settings.get("hardest"))
            if len(q.choices) > 1 and (longest is None or q.length <= longest)]
    if len(pool) < wanted:
        raise InvalidInput(f"The task needs {wanted:,} questions, but only {len(pool):,} are available; use fewer, or "
                           "allow longer ones.")
    rng = np.random.default_rng(settings.get("seed", 0))
    return [pool[index] for index in rng.permutation(len(pool))[:wanted]], rng


def wrong_answer(question: Question, rng: np.random.Generator) -> int:
    """The index of a choice that is not the right one."""
    return int((question.answer + rng.integers(1, len(question.choices))) % len(question.choices))


def shuffled(records: Sequence[Record], rng: np.random.Generator) -> tuple[Record, ...]:
    return tuple(records[row] for row in rng.permutation(len(records)))
