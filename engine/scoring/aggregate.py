r"""An aggregate over queries: from scores (m, k) of every query and candidate to one number a candidate.

    A(k) = Σ_q w(q, k) s(q, k) / Σ_q w(q, k),   s the oriented scores, both sums over the queries that know k

A score that is unknown is left out of its query: that of a candidate that did not converge, or one that is not finite.
A candidate of which no query with weight knows anything has no value (NaN), and neither has one whose error bound, the
same mean of its scores' bounds, leaves it no position among the others (`engine.metrics.positions`). `Mean` gives every
query the weight 1, `Weighted` its own, and `OwnClass` those of a candidate's class alone; `Difference` subtracts one
aggregate from another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.basics.errors import InvalidInput
from engine.metrics.positions import has_position
from engine.scoring.scores import Scores

LARGEST = 1e300
"""Stands for an infinite error, so that a query without weight does not make it NaN."""


class Aggregate(ABC):
    """How the scores of several queries become one number a candidate."""

    def of(self, scores: Scores) -> np.ndarray:
        """A (k,) float64 of the oriented scores. Raises `InvalidInput` where the queries are not those it was made
        for."""
        values = self.over(scores.scored)
        if scores.error is None:
            return values
        off = np.where(scores.usable, np.minimum(np.nan_to_num(scores.error.astype(np.float64)), LARGEST), np.nan)
        bound = np.where((np.isnan(scores.error) & scores.usable).any(0), np.nan, self.bound(off))
        return np.where(has_position(values[None], bound[None])[0], values, np.nan)

    def of_queries(self, count: int) -> Sequence[float] | None:
        """The weights of so many queries, where they are the same for all candidates; else None."""
        return None

    def of_classes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Labels of queries (m,) and of candidates (k,), where only queries of a candidate's own class count."""
        return None

    def bound(self, errors: np.ndarray) -> np.ndarray:
        """By how much A may be off, (k,), of errors (m, k) of the scores."""
        return self.over(errors)

    @abstractmethod
    def over(self, values: np.ndarray) -> np.ndarray:
        """A (k,) float64 of oriented scores (m, k), where NaN stands for one that is unknown."""


@dataclass(frozen=True)
class Mean(Aggregate):
    """Every query counts the same: w = 1."""

    def of_queries(self, count: int) -> Sequence[float]:
        return [1.0] * count

    def over(self, values: np.ndarray) -> np.ndarray:
        known = ~np.isnan(values)
        total = values.sum(0, dtype=np.float64, where=known)
        return _divided(total, known.sum(0))


@dataclass(frozen=True, eq=False)
class Weighted(Aggregate):
    """Queries count by weights: (m,) a query, or (m, k) a query and candidate.

    Raises `InvalidInput` for weights that are negative, not finite, or nowhere positive.
    """

    weights: np.ndarray

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, np.float64)
        if weights.ndim not in (1, 2):
            raise InvalidInput(f"Weights of shape {weights.shape} do not fit queries; give one per query, "
                               "(m,), or one per query and candidate, (m, k).")
        if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
            raise InvalidInput("A weight of a query is negative or not finite, or all are zero; give numbers from 0 "
                               "up, at least one of them positive.")

    def of_queries(self, count: int) -> Sequence[float] | None:
        weights = np.asarray(self.weights, np.float64)
        return weights.tolist() if weights.shape == (count,) else None

    def over(self, values: np.ndarray) -> np.ndarray:
        weights = np.asarray(self.weights, np.float64)
        if weights.shape not in (values.shape, values.shape[:1]):
            raise InvalidInput(f"There are weights of shape {weights.shape} for scores of shape {values.shape}; give "
                               f"{len(values):,}, one per query.")
        weights = np.broadcast_to(weights if weights.ndim == 2 else weights[:, None], values.shape)
        known = ~np.isnan(values)
        total = (weights * np.where(known, values, 0.0)).sum(0)
        return _divided(total, weights.sum(0, where=known))


@dataclass(frozen=True, eq=False)
class OwnClass(Aggregate):
    """Queries of labels (m,) count for the candidates of their own class alone, labels (k,): w(q, k) = 1[y_q = y_k].

    Scores that compare representations are taken with the mean representation of these queries, where they can be
    (`engine.scoring.pooled`): of an inner product that is the same, of a cosine it is another score.
    """

    queries: np.ndarray
    candidates: np.ndarray

    def of_classes(self) -> tuple[np.ndarray, np.ndarray]:
        return self.queries, self.candidates

    def over(self, values: np.ndarray) -> np.ndarray:
        return Weighted(self.queries[:, None] == self.candidates).over(values)


@dataclass(frozen=True, eq=False)
class Difference(Aggregate):
    """One aggregate minus another, such as the mean over a set of queries minus that over a control set."""

    first: Aggregate
    second: Aggregate

    def bound(self, errors: np.ndarray) -> np.ndarray:
        return self.first.bound(errors) + self.second.bound(errors)

    def over(self, values: np.ndarray) -> np.ndarray:
        return self.first.over(values) - self.second.over(values)


def _divided(total: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.divide(total, weight, out=np.full(total.shape, np.nan), where=weight > 0)
