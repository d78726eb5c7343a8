"""Gradients that lie as arrays, on disk or in memory: of records and queries at every checkpoint, projected or whole.

A study of many rankings computes gradients once. What it holds answers estimators as a problem does: at a checkpoint
by the terms of `engine.gradients.store`, with representations where they were read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.mapped import Rows, blocks, file_of
from engine.basics.options import Options
from engine.gradients.response import Given
from engine.gradients.scaled import Features, Scaled
from engine.gradients.store import Linear
from engine.question.behavior import Behavior
from engine.question.likelihood import LEAST_DOUBT
from engine.question.processes import Trajectory

T = TypeVar("T")
STREAM = 7
"""Sets the random scores apart from all else that a seed draws."""


@dataclass(frozen=True, eq=False)
class CachedCheckpoint:
    """One checkpoint. weight: the learning rates of the steps that it stands for; rate: that of its own step alone.
    gradients, conditioned, divided (n, k): ∇ℓ(z_k) as it is, as Adam's update, and divided by (√v + ε)²; None where it
    is not held. queries: behavior -> ∇B(q), (m, k)."""

    weight: float
    gradients: np.ndarray
    conditioned: Rows | None
    queries: Mapping[str, np.ndarray]
    rate: float = 0.0
    divided: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class CachedFeatures:
    """points: in the order of the training, the last one is the model that is asked. norms, losses (n,) at the end.

    hidden, query_hidden: layer -> representation of the prompt at the end of it, (n, d) and (m, d), with layers as
    fractions of the depth; layer: which of them RepSim reads. seed: for what is drawn. ridge: of TRAK's regression, as
    a fraction of its features' mean square. second_draw: the points under another draw of the projection, empty where
    gradients are kept whole. regressed: what TRAK regresses on where that is not the last point.
    """

    offers = frozenset({"gradients", "representations", "margins", "moments"})
    noun, curvatures, hessian_products = "gradients that are held", (), False

    points: tuple[CachedCheckpoint, ...]
    norms: np.ndarray
    losses: np.ndarray
    hidden: Mapping[float, np.ndarray]
    query_hidden: Mapping[float, np.ndarray]
    layer: float = 1.0
    seed: int = 0
    ridge: float = 1e-2
    second_draw: tuple[CachedCheckpoint, ...] = ()
    regressed: CachedCheckpoint | None = None
    computed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def last(self) -> CachedCheckpoint:
        return self.points[-1]

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, records)."""
        return len(self.queries), len(self.norms)

    @property
    def queries(self) -> np.ndarray:
        """Their representations at the layer that is read, (m, d)."""
        return self.query_hidden[self.layer]

    @property
    def candidates(self) -> Tensor:
        """All records, (n,)."""
        return torch.arange(len(self.norms))

    @property
    def redrawn(self) -> CachedFeatures | None:
        """The same under the other draw of the projection; None where gradients are kept whole."""
        return replace(self, points=self.second_draw, second_draw=()) if self.second_draw else None

    @property
    def behaviors(self) -> tuple[str, ...]:
        return tuple(self.last.queries)

    def memo(self, key: str, build: Callable[[], T], version: Hashable = None) -> T:
        """What `build()` made for `key`."""
        if key not in self.computed:
            self.computed[key] = build()
        return self.computed[key]

    def checkpoints_of(self, process: Trajectory) -> Sequence[tuple[int, float]]:
        """All of them, by index, each with η times the learning rates of the steps that it stands for, or that of its
        step. Raises `InvalidInput` for fractions of the training, which the recipe of what is held decided."""
        if process.fractions:
            raise InvalidInput("The checkpoints whose gradients are stored were chosen by `checkpoints_at` of the "
                               "recipe; leave `fractions` of the trajectory out.")
        return [(index, process.eta * (point.weight if process.weights == "recipe" else point.rate))
                for index, point in enumerate(self.points)]

    def gradients(self, rows: Tensor, options: Options, point: int | None = None) -> CachedGradients:
        """The store of records `rows` (b,) at the checkpoint of an index, by default the last."""
        return CachedGradients(self, self._index(rows), len(self.points) - 1 if point is None else point)

    def events(self, rows: Tensor, projector: str, dimension: int, options: Options) -> CachedEvents:
        """A response counts as one event of probability exp(−ℓ); its gradients are projected as they are held."""
        return CachedEvents(self, self._index(rows))

    def _index(self, rows: Tensor) -> slice | np.ndarray:
        """Records (b,) as what arrays are indexed by: a slice for all of them, which copies nothing."""
        return slice(None) if torch.equal(rows, self.candidates) else rows.numpy()

    def readout_similarity(self, rows: Tensor, normalised: bool = False) -> Tensor:
        """⟨φ(q), φ(z_k)⟩ of the prompts' representations, at the layer that is read: (m, b)."""
        scaled = normalise if normalised else np.asarray
        return torch.from_numpy(products(scaled(self.queries), scaled(self.hidden[self.layer])))[:, rows]

    def raised_by(self, amounts: Tensor) -> Given:
        """Amounts (m, b) themselves: every behavior that is read off a representation rises with it."""
        return Given(amounts)

    def random_scores(self, rows: Tensor, seed: int) -> Tensor:
        """A number in [0, 1) for each record, the same for every query, as the studies of language models draw it."""
        scores = np.random.default_rng([seed, STREAM]).random(len(self.norms), dtype=np.float32)
        return torch.from_numpy(scores)[rows].expand(len(self.queries), -1)


@dataclass(frozen=True)
class CachedTerm:
    """weight · ⟨queries, records⟩ at the checkpoint of an index: queries(behavior) (m, k), records() (b, k).

    count: b. inverse: a symmetric map by which gradients of queries became `queries`, if any. normalised: whether
    queries and records count at length one.
    """

    checkpoint: int
    weight: float
    queries: Callable[[str], np.ndarray]
    records: Callable[[], Rows]
    count: int
    inverse: Linear | None = None
    normalised: bool = False

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b)."""
        records = self.records()
        values = products(self._queries(behavior.name), records)
        if self.normalised:  # afterwards, without a copy of all records
            values /= lengths(records).T
        return torch.from_numpy(self.weight * values)

    def errors(self, behavior: Behavior, labels: Tensor, enough: Tensor | None = None) -> Tensor:
        """(m, b): NaN, as no bound is stated."""
        return torch.full((len(labels), self.count), torch.nan)

    def direction(self, behavior: str, query: int | None = None) -> np.ndarray:
        """u (k,), where the score of a query, or by default their mean score, is ⟨u, record⟩."""
        rows = np.asarray(self._queries(behavior))
        return self.weight * (rows.mean(0, dtype=np.float64) if query is None else rows[query].astype(np.float64))

    def query_direction(self, behavior: str, query: int, record: int) -> np.ndarray:
        """v (k,), where the score of a query and a record is ⟨v, gradient of the query⟩; of a length, held."""
        row = np.asarray(self.records()[record], dtype=np.float64)
        if self.normalised:
            row = row / (lengths(row[None])[0] * lengths(self.queries(behavior)[query:query + 1])[0])
        return self.weight * (row if self.inverse is None else self.inverse(torch.from_numpy(row)[None])[0].numpy())

    def _queries(self, behavior: str) -> np.ndarray:
        rows = self.queries(behavior)
        return normalise(rows) if self.normalised else rows


@dataclass(frozen=True)
class CachedGradients:
    """The gradient store of some records at the checkpoint of an index."""

    features: CachedFeatures
    rows: slice | np.ndarray
    checkpoint: int

    def norms(self) -> Tensor:
        """At the end of the training."""
        return torch.from_numpy(np.array(self.features.norms))[self.rows]

    def term(self, weight: float, *, normalised: bool = False, preconditioned: bool = False, divided: bool = False
             ) -> CachedTerm:
        point = self.features.points[self.checkpoint]
        records = held(point.conditioned if preconditioned else point.divided if divided else point.gradients)
        return CachedTerm(self.checkpoint, weight, lambda behavior: point.queries[behavior],
                          lambda: records[self.rows], len(self.features.candidates[self.rows]), normalised=normalised)


@dataclass(frozen=True)
class CachedEvents:
    """Of records of which ∇ℓ is held, φ = −∇ℓ/(1 − p) with 1 − p = 1 − exp(−ℓ). gradients (n, k): (1 − p) φ."""

    held: CachedFeatures
    rows: slice | np.ndarray
    key = "events"

    @property
    def ridge(self) -> float:
        return self.held.ridge

    @cached_property
    def features(self) -> Features:
        """Φ (n, k)."""
        doubt = np.maximum(-np.expm1(-self.held.losses.astype(np.float64)), LEAST_DOUBT)
        divisors = torch.from_numpy(doubt.astype(np.float32))
        if file_of(held := self.point.gradients) is None:
            return Scaled(torch.from_numpy(held), -divisors)
        return self.gradients.div_(divisors[:, None])

    @property
    def gradients(self) -> Tensor:
        """(1 − p) Φ (n, k), a new array."""
        held = self.point.gradients
        negative = np.empty(held.shape, dtype=held.dtype)
        for at, own in blocks(held):
            np.negative(own, out=negative[at])
        return torch.from_numpy(negative)

    @property
    def point(self) -> CachedCheckpoint:
        return self.held.regressed or self.held.last

    def term(self, weight: float, inverse: Linear) -> CachedTerm:
        """By (1 − p_k) φ(z_k) = −∇ℓ(z_k), with the inverse on the queries' side, of which there are fewer."""
        last = self.point

        def queries(behavior: str) -> np.ndarray:
            return inverse(torch.from_numpy(np.asarray(last.queries[behavior], dtype=np.float64))).numpy()

        return CachedTerm(len(self.held.points) - 1, -weight, queries, lambda: last.gradients[self.rows],
                          len(self.held.candidates[self.rows]), inverse)


def held(values: Rows | None) -> Rows:
    """Values of a checkpoint. Raises `InvalidInput` for those that are not held."""
    if values is None:
        raise InvalidInput("These records' gradients are stored without Adam's moments; use an estimator that reads "
                           "only gradients, such as `first_order`.")
    return values


def products(queries: np.ndarray, records: Rows) -> np.ndarray:
    """⟨q, z⟩ of all pairs, (m, n), in float32."""
    left, values = np.asarray(queries, dtype=np.float32), np.empty((len(queries), len(records)), dtype=np.float32)
    for at, own in blocks(records):
        values[:, at] = left @ np.asarray(own, dtype=np.float32).T
    return values


def normalise(rows: np.ndarray) -> np.ndarray:
    """Rows of length one; a zero row stays zero."""
    rows = np.asarray(rows, dtype=np.float32)
    return rows / lengths(rows)


def lengths(rows: Rows) -> np.ndarray:
    """Of rows, (n, 1) float32; the least positive number of a zero row."""
    norms = [np.linalg.norm(np.asarray(own, dtype=np.float32), axis=1, keepdims=True) for _, own in blocks(rows)]
    return np.maximum(np.concatenate(norms), np.finfo(np.float32).tiny)
