r"""Estimators on gradients that are held: arrays of every record and query at every checkpoint, projected or whole.

A problem computes gradients as its routes ask for them. A study of many rankings has them on disk instead, and an
estimator answers from there by its `HeldForm`, the same formula in the same file as its route. A form scores what
supports: the orientation of its intervention is in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.basics.errors import InvalidInput

NOWHERE = ("", "")
"""The key of the form of a baseline, which stands for no intervention and no process."""


@dataclass(frozen=True, eq=False)
class Point:
    """One checkpoint. weight: its learning rates. gradients, conditioned (n, k): ∇ℓ(z_k) as it is and as Adam's
    update. queries: behavior -> ∇B(q), (m, k)."""

    weight: float
    gradients: np.ndarray
    conditioned: np.ndarray
    queries: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Features:
    """points: in the order of the training, the last one is the model that is asked. norms, losses (n,) at the end.

    hidden, query_hidden: layer -> representation of the prompt at the end of it, (n, d) and (m, d), with layers as
    shares of the depth; layer: which of them RepSim reads. seed: for what is drawn. ridge: of TRAK's regression, as a
    share of its features' mean square. again: the points under another draw of the projection, empty where gradients
    are kept whole.
    """

    points: tuple[Point, ...]
    norms: np.ndarray
    losses: np.ndarray
    hidden: Mapping[float, np.ndarray]
    query_hidden: Mapping[float, np.ndarray]
    layer: float = 1.0
    seed: int = 0
    ridge: float = 1e-2
    again: tuple[Point, ...] = ()

    @property
    def last(self) -> Point:
        return self.points[-1]

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, records)."""
        return len(self.query_hidden[self.layer]), len(self.norms)

    @property
    def redrawn(self) -> Features | None:
        """The same under the other draw of the projection; None where gradients are kept whole."""
        return replace(self, points=self.again, again=()) if self.again else None

    @property
    def behaviors(self) -> tuple[str, ...]:
        return tuple(self.last.queries)


class HeldForm(ABC):
    """How an estimator scores from `Features`.

    conditioned: whether it reads Adam's updates, at length one. whole: why a score cannot be shared among a record's
    tokens, in a sentence; empty where it can.
    """

    conditioned: bool = False
    whole: str = ""

    @abstractmethod
    def score(self, features: Features, behavior: str) -> np.ndarray:
        """(m, n), positive where the record supports the behavior."""

    @abstractmethod
    def directions(self, features: Features, behavior: str) -> dict[int, np.ndarray]:
        """Checkpoint -> u (k,), where the mean score over queries is Σ ⟨u, gradient⟩ over checkpoints, with Adam's
        update at length one in the gradient's place where the form is `conditioned`.

        Raises `InvalidInput` with `whole` where the score is no such sum.
        """


@dataclass(frozen=True)
class Term:
    """−weight ⟨queries, records⟩ at the checkpoint of a place: queries (m, k), records (n, k)."""

    place: int
    weight: float
    queries: np.ndarray
    records: np.ndarray


@dataclass(frozen=True)
class Linear(HeldForm):
    """A score that is linear in the gradients of a record: the sum of terms(features, behavior) over checkpoints."""

    terms: Callable[[Features, str], Sequence[Term]]
    conditioned: bool = False

    def score(self, features: Features, behavior: str) -> np.ndarray:
        return -np.asarray(sum(term.weight * products(term.queries, term.records)
                               for term in self.terms(features, behavior)))

    def directions(self, features: Features, behavior: str) -> dict[int, np.ndarray]:
        return {term.place: -term.weight * mean_query(term.queries) for term in self.terms(features, behavior)}


@dataclass(frozen=True)
class Undivided(HeldForm):
    """A score that is computed as it is, and for which `whole` says why no token has a share of it."""

    compute: Callable[[Features, str], np.ndarray]
    whole: str

    def score(self, features: Features, behavior: str) -> np.ndarray:
        return self.compute(features, behavior)

    def directions(self, features: Features, behavior: str) -> dict[int, np.ndarray]:
        raise InvalidInput(self.whole)


def products(queries: np.ndarray, records: np.ndarray) -> np.ndarray:
    """⟨q, z⟩ of all pairs, (m, n), in float32."""
    return np.asarray(queries, dtype=np.float32) @ np.asarray(records, dtype=np.float32).T


def mean_query(rows: np.ndarray) -> np.ndarray:
    """The mean of the rows, (k,), in float64."""
    return np.asarray(rows).mean(0, dtype=np.float64)


def normalised(rows: np.ndarray) -> np.ndarray:
    """Rows of length one; a zero row stays zero."""
    rows = np.asarray(rows, dtype=np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
