r"""How wide a projection is: the narrowest whose two draws rank records alike, doubling from the setting's dimension.

A few of the training's own records and queries are projected to every width at once, under two draws. The first width
at which the least Kendall τ over estimators and behaviors (`sketching.stability`) reaches `AIM` is taken, else the
widest that the budget allows. What a reader is told is τ over the whole run, at the width that was taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from engine.applications.language import gradients, sketching
from engine.applications.language.attribution import Attribution, check_finite
from engine.applications.language.projection import (
    Adam,
    Conditioned,
    Draws,
    GroupSink,
    Maps,
    Projection,
    draw_names,
    group_gradients,
)
from engine.basics.files import atomic_write
from engine.data.records import fingerprint
from engine.gradients.cached import Features, Point
from engine.models.causal import passes
from engine.models.causal.encoding import Encoded
from engine.models.causal.finetune import Checkpoint
from engine.models.causal.readouts import READOUTS, mean_response_likelihood
from engine.store.results import digest_of

AIM = sketching.TARGET + 0.01
"""Of the sample: a little above the target, which the whole run is to meet."""
RECORDS, QUERIES = 64, 8
NUMERICS = 1
Columns = dict[tuple[int, str], np.ndarray]
"""(width, column of the cache) -> projected gradients (rows, width)."""


@dataclass(frozen=True)
class Choice:
    """The projection that is used. tried: width -> the least τ of the sample, empty where there was nothing to try."""

    projection: Projection
    tried: dict[int, float] = field(default_factory=dict)


def widths(narrowest: int, widest: int) -> list[int]:
    """The widths that are tried: doubling, as far as the widest."""
    found = [narrowest]
    while found[-1] * 2 <= widest:
        found.append(found[-1] * 2)
    return found


def choose(found: Attribution, check: Callable[[], None] = lambda: None) -> Choice:
    """The projection of a training whose checkpoints are there. Without a budget it is the setting's own.

    What was chosen stands beside the checkpoints, so that the chunks of a run, and other queries, use the same.
    """
    asked, widest = found.setting.projection, found.widest
    if not asked.budget or widest.whole or widest.dimension <= asked.dimension:
        return Choice(widest)
    records = found.task.queries[found.task.reference][:QUERIES]
    queries = [found.encoder.encode(record) for record in records]
    if not found.behaviors(queries):
        return Choice(widest)
    told = {"projection": asked.model_dump(mode="json"), "widest": widest.dimension, "numerics": NUMERICS,
            "queries": fingerprint(records)}
    path = found.folder / f"width-{digest_of(told)[:16]}.json"
    with suppress(OSError, ValueError):
        return _choice(widest, {int(width): float(tau) for width, tau in json.loads(path.read_bytes())["tried"]})
    tried = measure(found, queries, widths(asked.dimension, widest.dimension), check)
    atomic_write(path, json.dumps({**told, "tried": list(tried.items())}))
    return _choice(widest, tried)


def _choice(widest: Projection, tried: dict[int, float]) -> Choice:
    dimension = next((width for width, tau in tried.items() if tau >= AIM), widest.dimension)
    return Choice(widest.model_copy(update={"dimension": dimension}), tried)


def measure(found: Attribution, queries: Sequence[Encoded], tried: Sequence[int],
            check: Callable[[], None] = lambda: None) -> dict[int, float]:
    """Width -> the least τ between two draws over estimators and behaviors, of a sample of the records; 0 where no
    query ranks them. Raises `Diverged` where a gradient is not finite."""
    rows = np.sort(np.random.default_rng(found.seed).permutation(len(found.encoded))[:RECORDS])
    records, points = [found.encoded[row] for row in rows], []
    projections = [found.widest.model_copy(update={"dimension": width}) for width in tried]
    for point in found.points:
        found.place(point)
        own, losses = _records(found, point, records, projections, check)
        asked = _queries(found, queries, projections, check)
        check_finite(((name, values) for (_, name), values in (*own.items(), *asked.items())), point.step)
        points.append((point.weight, own, losses, asked))
    least = {}
    for width in tried:
        drawn = [tuple(_point(weight, own, asked, found.behaviors(queries), width, draw)
                       for weight, own, _, asked in points) for draw in range(2)]
        sample = Features(drawn[0], np.zeros(len(rows)), points[-1][2], {1.0: np.zeros((len(rows), 0))},
                          {1.0: np.zeros((len(queries), 0))}, 1.0, found.seed, found.setting.ridge, drawn[1])
        tau = sketching.stability(sample)["kendall_tau"].min()
        least[width] = float(tau) if tau == tau else 0.0
    return least


def _point(weight: float, own: Columns, asked: Columns, behaviors: Sequence[str], width: int, draw: int) -> Point:
    """What estimators read at one checkpoint, at one width and under one of the draws."""
    def of(columns: Columns, name: str) -> np.ndarray:
        return columns[width, draw_names(name)[draw]]

    return Point(weight, of(own, "gradient"), of(own, "conditioned"), {name: of(asked, name) for name in behaviors})


def _records(found: Attribution, point: Checkpoint, encoded: Sequence[Encoded], projections: Sequence[Projection],
             check: Callable[[], None]) -> tuple[Columns, np.ndarray]:
    """Projected gradients of training records at a checkpoint, plain and conditioned, and their losses."""
    maps, adam = [Maps(one, found.sizes) for one in projections], Adam(*point.moments(), point.step)

    def sinks() -> tuple[list[list[GroupSink]], dict[str, list[Draws]]]:
        made = {name: [Draws(one) for one in maps] for name in ("gradient", "conditioned")}
        return [[*made["gradient"], Conditioned(adam, *made["conditioned"])]], made

    columns, values = _collected(found, encoded, [lambda *batch: -mean_response_likelihood(*batch)], projections, sinks,
                                 check)
    return columns, values[:, 0]


def _queries(found: Attribution, encoded: Sequence[Encoded], projections: Sequence[Projection],
             check: Callable[[], None]) -> Columns:
    """Projected gradients of every behavior of queries, with the weights that the model has."""
    names, maps = found.behaviors(encoded), [Maps(one, found.sizes) for one in projections]

    def sinks() -> tuple[list[list[GroupSink]], dict[str, list[Draws]]]:
        made = {name: [Draws(one) for one in maps] for name in names}
        return [[*made[name]] for name in names], made

    return _collected(found, encoded, [READOUTS[name].read for name in names], projections, sinks, check)[0]


def _collected(found: Attribution, encoded: Sequence[Encoded], readers, projections: Sequence[Projection],
               sinks: Callable[[], tuple[list[list[GroupSink]], dict[str, list[Draws]]]], check: Callable[[], None]
               ) -> tuple[Columns, np.ndarray]:
    """Projected gradients of what readers read, under every projection, and the values read, (rows, readers)."""
    order: list[int] = []
    parts: dict[tuple[int, str], list[Tensor]] = {}
    values: list[Tensor] = []
    with gradients.tapped(found.model) as tap:
        for rows, batch in passes.batched(found.model, found.encoder, encoded, found.setting.recipe.batch,
                                          check=check):
            receivers, made = sinks()
            values.append(group_gradients(found.model, tap, batch, readers, receivers).float().cpu())
            for name, of_widths in made.items():
                for projection, draws in zip(projections, of_widths, strict=True):
                    for column, part in draws.projected(name).items():
                        parts.setdefault((projection.dimension, column), []).append(part)
            order += rows
    back = np.argsort(order)
    return ({key: np.concatenate([np.asarray(one) for one in listed])[back] for key, listed in parts.items()},
            np.concatenate([np.asarray(one) for one in values])[back])
