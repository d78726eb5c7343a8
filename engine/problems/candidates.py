"""What a problem holds of examples: those that it was trained on, its queries, and the candidates that are scored.

A candidate is a training example, or an example *outside* the training set, whose weight in the factual objective is 0:

    upweight(α)      L_D(θ) + α ℓ(z; θ), whether z is in the mean L_D or not: its weight goes from 1/n, or 0, up by α
    infinitesimal    the derivative at α = 0
    add_occurrence   a step on ℓ(z; θ): once more for a training example, for the first time for one outside

What takes weight away, or changes a label, asks about training examples alone. Candidates are numbered 0 to n − 1 in
the training set, and from n on outside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self, TypeVar

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.fingerprint import fingerprint
from engine.problems.indices import indices
from engine.problems.indices import labels as whole_labels
from engine.problems.memory import ProblemMemory
from engine.question.interventions import INSTEAD

P = TypeVar("P")
Arraylike = ArrayLike | Tensor
"""Numbers as a user holds them."""


class Units(NamedTuple):
    """Examples as a model takes them, x (b, …), and their labels y (b,)."""

    x: Tensor
    y: Tensor


class Examples(NamedTuple):
    """Tensors on one device, as a model takes them: x (n, …), y (n,), queries (m, …), labels (m,), candidates (k,), and
    o examples outside the training set."""

    x: Tensor
    y: Tensor
    queries: Tensor
    query_labels: Tensor
    candidates: Tensor
    outside: Units | None = None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, without what is outside."""
        return self.x, self.y, self.queries, self.query_labels, self.candidates


@dataclass(frozen=True)
class Shared:
    """What a problem takes over from another one of the same model, instead of preparing and computing it again.

    model: what was computed of the model and its training data. queries: what was computed for the queries too.
    """

    model: ProblemMemory
    queries: ProblemMemory


Part = tuple[P, Sequence[str]]
"""A problem whose candidates are the next examples of a stream, and what these are called; empty without names."""


class Candidates(ABC):
    """The examples of a problem: x (n, …), y (n,), queries (m, …), query_labels (m,), candidates (k,), and what is
    `outside`, all on `device`."""

    device: torch.device

    def __init__(self, examples: Examples, shared: Shared | None) -> None:
        self.x, self.y, self.queries, self.query_labels, self.candidates, self.outside = examples
        self.shared = shared or Shared(ProblemMemory(), ProblemMemory())

    @property
    def n(self) -> int:
        """How many training examples there are."""
        return len(self.y)

    @property
    @abstractmethod
    def classes(self) -> int:
        """C, the number of outputs."""

    @property
    def examples(self) -> Examples:
        """What `holding` takes: everything that is held of training examples, queries and candidates."""
        return Examples(self.x, self.y, self.queries, self.query_labels, self.candidates, self.outside)

    @abstractmethod
    def holding(self, examples: Examples, shared: Shared) -> Self:
        """The same model with other examples, which are as this problem holds them. shared: what stays valid."""

    def units(self, rows: Tensor) -> Units:
        """Inputs and labels of examples `rows` (b,) that may be candidates."""
        if self.outside is None or not self.adds(rows):
            return Units(self.x[rows], self.y[rows])
        if bool((rows >= self.n).all()):
            return Units(*(own[rows - self.n] for own in self.outside))
        each = [self.units(row[None]) for row in rows]
        return Units(torch.cat([one.x for one in each]), torch.cat([one.y for one in each]))

    def adds(self, rows: Tensor) -> bool:
        """Whether one of `rows` (b,) is no training example, so that what gives it a weight adds it."""
        return self.outside is not None and bool((rows >= self.n).any())

    @property
    def sides(self) -> tuple[Tensor, ...]:
        """The candidates in their order, cut wherever one of the training set and one outside follow each other."""
        if self.outside is None:
            return (self.candidates,)
        lengths = torch.unique_consecutive(self.candidates >= self.n, return_counts=True)[1]
        return self.candidates.split(lengths.tolist())

    def check_trained(self, rows: Tensor, question: str) -> None:
        """Raises `InvalidInput` where one of `rows` (b,) is no training example; question: what asks for that."""
        if self.adds(rows):
            raise InvalidInput(f"{question} about training examples, and candidate {int(rows.max())} is not one of the "
                               f"{self.n:,}; {INSTEAD}.")

    def with_candidates(self, candidates: Arraylike) -> Self:
        """The same trained problem with other candidates (k,); what was computed of the model is shared."""
        there = self.n + (0 if self.outside is None else len(self.outside.y))
        return self.holding(self.examples._replace(candidates=self._candidates(candidates, there)), self.shared)

    def in_parts(self, names: Sequence[str], size: int) -> Iterator[Part[Self]]:
        """The problem with so many of its candidates at a time, and their names out of those of all."""
        for start in range(0, len(names), size):
            yield self.with_candidates(self.candidates[start:start + size]), names[start:start + size]

    def with_candidates_of(self, other: Candidates) -> Self:
        """This problem with the candidates of another one, which has the same training examples."""
        return self.holding(self.examples._replace(candidates=other.candidates, outside=other.outside), self.shared)

    @property
    def trained_examples(self) -> Examples:
        """Without candidates outside: all training examples are candidates where there were some."""
        return self.examples if self.outside is None else self.examples._replace(
            candidates=torch.arange(self.n, device=self.device), outside=None)

    def with_outside(self, x: Arraylike, y: Arraylike, candidates: Arraylike | Iterable[int] | None = None) -> Self:
        """The same trained problem whose candidates are examples x (o, …), y (o,) that it was not trained on, behind
        the training examples that `candidates` names. What was computed of the model is shared.

        Raises `InvalidInput` for inputs unlike those of the training examples, and for a label that there is not.
        """
        outside = Units(self._inputs(x), self._labels(y))
        if outside.x.shape[1:] != self.x.shape[1:] or len(outside.x) != len(outside.y) or not len(outside.y):
            raise InvalidInput(f"The new candidates have inputs of shape {tuple(outside.x.shape)} and "
                               f"{len(outside.y):,} labels, and the training examples {tuple(self.x.shape)}; give at "
                               "least one such input, and a label for each.")
        self._check_range(outside.y)
        rows = torch.arange(self.n, self.n + len(outside.y), device=self.device)
        if candidates is not None:
            rows = torch.cat([self._candidates(candidates, self.n), rows])
        return self.holding(self.examples._replace(candidates=rows, outside=outside), self.shared)

    def _check_range(self, labels: Tensor) -> None:
        """Raises `InvalidInput` where a label of new candidates is none of the classes."""
        if int(labels.min()) < 0 or int(labels.max()) >= self.classes:
            raise InvalidInput(f"A label of the new candidates lies outside 0…{self.classes - 1}; number the classes "
                               "as those of the training examples.")

    @cached_property
    def outside_content(self) -> str:
        """The version of what is computed of the examples outside: a digest of them, empty where there are none."""
        return "" if self.outside is None else fingerprint(list(self.outside))

    def at_itself(self, rows: Tensor) -> Self:
        """The same model with examples `rows` (b,) as queries and candidates alike."""
        x, y = self.units(rows)
        return self.holding(self.examples._replace(queries=x, query_labels=y, candidates=rows),
                            Shared(self.shared.model, ProblemMemory()))

    @abstractmethod
    def _inputs(self, x: Arraylike) -> Tensor:
        """Arrays as this problem holds them."""

    def _labels(self, labels: Arraylike) -> Tensor:
        return whole_labels(labels).to(self.device)

    def _candidates(self, candidates: Arraylike | Iterable[int] | None, n: int) -> Tensor:
        return (torch.arange(n) if candidates is None else indices(candidates, n)).to(self.device)
