r"""Unprojected products of records' gradients with the mean gradients of sets of queries.

A score that is linear in a query's gradient has as its mean over queries the score of their mean gradient. With the
mean gradients of every set and behavior as the rows of Q (J, P),

    Q g_k   and   Q (g_k/(√v + ε)²),        g_k = ∇ℓ(z_k),  v Adam's second moment,

are all the products that GradSim and TracIn, and LESS as in the authors' code, take of record k: J numbers in place of
P. Held as gradients of which every query is a unit vector, they answer estimators as whole gradients would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from engine.applications.language.attribution import Attribution
from engine.applications.language.cache import Cache
from engine.applications.language.fine_tuned import Check, Progress
from engine.applications.language.gradients import Tap
from engine.applications.language.projection import group_gradients
from engine.data.records import fingerprint
from engine.gradients.cached import CachedCheckpoint, CachedFeatures
from engine.models.adam import EPSILON
from engine.models.causal.encoding import Batch
from engine.models.causal.finetune import FineTuneCheckpoint
from engine.models.causal.readouts import READOUTS

Rows = Mapping[str, Tensor]
"""Parameter -> the rows (J, size) of a matrix that belong to it."""


class Sums:
    """The sum of all gradients that it is called with, in float64, by parameter."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.totals: dict[str, Tensor] = {}

    def __call__(self, names: tuple[str, ...], joined: Tensor) -> None:
        """Gradients (b, Σ sizes) of the parameters `names`, side by side."""
        for name, part in zip(names, joined.split([self.sizes[name] for name in names], 1), strict=True):
            self.totals[name] = self.totals.get(name, 0.0) + part.double().sum(0)


class Matrix:
    """Rows (J, P) over all parameters; the columns of some of them are put side by side, where they are read, once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._joined: dict[tuple[str, ...], Tensor] = {}

    def of(self, names: tuple[str, ...], device: torch.device) -> Tensor:
        """(J, Σ sizes)."""
        if names not in self._joined:
            self._joined[names] = torch.cat([self.rows[name] for name in names], 1).to(device)
        return self._joined[names]


class Products:
    """Q g of a batch's gradients g, (b, J), out of their parts; and ‖g‖², (b,)."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.total, self.squares = torch.zeros(()), torch.zeros(())

    def __call__(self, names: tuple[str, ...], joined: Tensor) -> None:
        self.total = self.total + (joined @ self.matrix.of(names, joined.device).T).cpu()
        self.squares = self.squares + joined.square().sum(1).cpu()


@dataclass(frozen=True, eq=False)
class MeanProducts:
    """Products of every training record of a run with the mean queries of its sets, which are held together."""

    run: Attribution
    sets: tuple[str, ...]

    @cached_property
    def behaviors(self) -> list[str]:
        """Those that every query of the sets allows."""
        return self.run.behaviors([query for name in self.sets for query in self.run.queries(name)])

    def mean_gradients(self, check: Check = lambda: None) -> dict[str, Tensor]:
        """Parameter -> (J, size) of the model as it is loaded: the mean gradient of every behavior of the first set,
        then of the next."""
        run, means = self.run, []
        readers = [READOUTS[behavior].read for behavior in self.behaviors]
        with run.tapped() as tap:
            for name in self.sets:
                encoded, sums = run.queries(name), [Sums(run.sizes) for _ in readers]
                for _, batch in run.batched(encoded, check):
                    group_gradients(tap, batch, readers, [[one] for one in sums])
                means += [{key: total / len(encoded) for key, total in one.totals.items()} for one in sums]
        return {name: torch.stack([mean[name] for mean in means]).float() for name in run.sizes}

    def cached(self, point: FineTuneCheckpoint, check: Check = lambda: None,
               progress: Progress = lambda fraction: None) -> Cache:
        """`products` and `divided` (n, J) of every training record at a checkpoint, with `norm` ‖g‖ and `loss`."""
        run, width = self.run, len(self.sets) * len(self.behaviors)
        cache = run.open_cache({"part": "mean products", "step": point.step, **run.scope,
                                "sets": [fingerprint(run.task.queries[name]) for name in self.sets]},
                               len(run.encoded), {"products": (width,), "divided": (width,), "norm": (), "loss": ()})
        if cache.sealed:
            return cache
        run.load(point)
        means, by = self.mean_gradients(check), divisors(point)
        plain, divided = Matrix(means), Matrix({name: rows / by[name] for name, rows in means.items()})
        (loss,) = run.losses.values()

        def rows_of(tap: Tap, batch: Batch, _rows: Sequence[int]) -> dict[str, Tensor]:
            own, other = Products(plain), Products(divided)
            values = group_gradients(tap, batch, [loss], [[own, other]])
            return {"products": own.total, "divided": other.total, "norm": own.squares.sqrt(),
                    "loss": values[:, 0].float().cpu()}

        return run.fill(cache, point, run.encoded, rows_of, check, progress)

    def features(self, name: str, check: Check = lambda: None) -> CachedFeatures:
        """What estimators read of the mean query of one of the sets.

        Similarities compare with the mean representation, and TRAK regresses on projected gradients.
        """
        run, records = self.run, self.run.task.queries[name]
        units = np.eye(len(self.behaviors) * len(self.sets), dtype=np.float32)[
            len(self.behaviors) * self.sets.index(name):]
        queries = {behavior: units[index:index + 1] for index, behavior in enumerate(self.behaviors)}
        points = [(point, self.cached(point, check)) for point in run.points]
        last, (end, held) = run.points[-1], points[-1]
        projected, queried = run.record_cache(last, check), run.query_cache(last, records, check)
        regressed = CachedCheckpoint(last.weight, projected["gradient"], None, {
            behavior: np.asarray(queried[behavior]).mean(0, keepdims=True) for behavior in self.behaviors})
        states, of_queries = run.states(None, check), run.states(records, check)
        return CachedFeatures(
            tuple(CachedCheckpoint(point.weight, own["products"], None, queries, point.rate,
                                   own["divided"] if point is end else None) for point, own in points),
            held["norm"], held["loss"], {depth: states[f"{depth:g}"] for depth in run.layers},
            {depth: np.asarray(of_queries[f"{depth:g}"]).mean(0, keepdims=True) for depth in run.layers},
            run.setting.layer, run.seed, run.setting.ridge, regressed=regressed)


def divisors(point: FineTuneCheckpoint) -> Rows:
    """Parameter -> (1, size), (√v + ε)² of a checkpoint."""
    return {name: ((value.sqrt() + EPSILON) ** 2).flatten()[None] for name, value in point.moments()[1].items()}
