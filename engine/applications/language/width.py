r"""How wide a projection is: the narrowest whose two draws rank records alike, doubling from the setting's dimension.

A few of the training's own records and queries are projected to every width at once, under two draws. The first width
at which the least Kendall τ over estimators and behaviors (`sketching.stability`) reaches `AIM` is taken, else the
widest that the budget allows. What a reader is told is τ over the whole run, at the width that was taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from engine.applications.language import gradients, sketching
from engine.applications.language.attribution import Attribution
from engine.applications.language.cache import check_finite
from engine.applications.language.columns import point_of
from engine.applications.language.projection import (
    Adam,
    Maps,
    Projection,
    projected_rows,
)
from engine.basics.files import atomic_write
from engine.data.records import fingerprint
from engine.gradients.cached import CachedFeatures
from engine.models.causal import passes
from engine.models.causal.encoding import Encoded
from engine.models.causal.readouts import READOUTS
from engine.store.results import digest_of

AIM = sketching.TARGET + 0.01
"""Of the sample: a little above the target, which the whole run is to meet."""
RECORDS, QUERIES = 64, 8
NUMERICS = 1


@dataclass(frozen=True)
class Choice:
    """The projection that is used. tried: width -> the least τ of the sample, empty where there was nothing to try."""

    projection: Projection
    tried: dict[int, float] = field(default_factory=dict)


def widths(narrowest: int, widest: int) -> list[int]:
    """The widths that are tried: doubling, as far as the widest."""
    return [narrowest << doubled for doubled in range((widest // narrowest).bit_length())]


def choose(run: Attribution, check: Callable[[], None] = lambda: None) -> Choice:
    """The projection of a training whose checkpoints are there. Without a budget it is the setting's own.

    What was chosen stands beside the checkpoints, so that the chunks of a run, and other queries, use the same.
    """
    wanted, widest = run.setting.projection, run.widest
    if not wanted.budget or widest.whole or widest.dimension <= wanted.dimension:
        return Choice(widest)
    records = run.task.queries[run.task.reference][:QUERIES]
    queries = [run.encoder.encode(record) for record in records]
    if not run.behaviors(queries):
        return Choice(widest)
    identity = {"projection": wanted.model_dump(mode="json"), "widest": widest.dimension, "numerics": NUMERICS,
                "queries": fingerprint(records), **run.scope}
    path = run.folder / f"width-{digest_of(identity)[:16]}.json"
    with suppress(OSError, ValueError):
        return _choice(widest, {int(width): float(tau) for width, tau in json.loads(path.read_bytes())["tried"]})
    tried = measure(run, queries, widths(wanted.dimension, widest.dimension), check)
    atomic_write(path, json.dumps({**identity, "tried": list(tried.items())}))
    return _choice(widest, tried)


def _choice(widest: Projection, tried: dict[int, float]) -> Choice:
    dimension = next((width for width, tau in tried.items() if tau >= AIM), widest.dimension)
    return Choice(widest.model_copy(update={"dimension": dimension}), tried)


def measure(run: Attribution, queries: Sequence[Encoded], tried: Sequence[int],
            check: Callable[[], None] = lambda: None) -> dict[int, float]:
    """Width -> the least τ between two draws over estimators and behaviors, of a sample of the records; 0 where no
    query ranks them. Raises `Diverged` where a gradient is not finite."""
    rows = np.sort(np.random.default_rng(run.seed).permutation(len(run.encoded))[:RECORDS])
    records, points = [run.encoded[row] for row in rows], []
    maps = [Maps(run.widest.model_copy(update={"dimension": width}), run.sizes) for width in tried]
    readers = {name: READOUTS[name].read for name in run.behaviors(queries)}
    for point in run.points:
        run.load(point)
        own, losses = _collected(run, records, run.losses, maps, check, Adam(*point.moments(), point.step))
        query_columns, _ = _collected(run, queries, readers, maps, check)
        for columns in (*own, *query_columns):
            check_finite(columns.items(), point.step)
        points.append((point.weight, own, losses[:, 0], query_columns))
    least = {}
    for index, width in enumerate(tried):
        draws = [tuple(point_of(weight, own[index], query_columns[index], list(readers), draw)
                       for weight, own, _, query_columns in points) for draw in range(2)]
        sample = CachedFeatures(draws[0], np.zeros(len(rows)), points[-1][2], {1.0: np.zeros((len(rows), 0))},
                                {1.0: np.zeros((len(queries), 0))}, 1.0, run.seed, run.setting.ridge, draws[1])
        tau = sketching.stability(sample)["kendall_tau"].min()
        least[width] = float(tau) if tau == tau else 0.0
    return least


def _collected(run: Attribution, encoded: Sequence[Encoded], readers: Mapping[str, Callable], maps: Sequence[Maps],
               check: Callable[[], None], adam: Adam | None = None) -> tuple[list[dict[str, np.ndarray]], np.ndarray]:
    """As `projected_rows` has them, of all records: gradients at every width, and the values read, (rows, readers)."""
    order: list[int] = []
    batches: list[dict[str, list[Tensor]]] = [{} for _ in maps]
    values: list[Tensor] = []
    with gradients.tapped(run.model, run.sizes) as tap:
        for rows, batch in passes.batched(run.model, run.encoder, encoded, run.setting.recipe.batch, check=check):
            read, columns = projected_rows(tap, batch, readers, maps, adam)
            values.append(read.float().cpu())
            for one, own in zip(batches, columns, strict=True):
                for column, chunk in own.items():
                    one.setdefault(column, []).append(chunk)
            order += rows
    back = np.argsort(order)
    return ([{column: torch.cat(chunks).numpy()[back] for column, chunks in one.items()} for one in batches],
            torch.cat(values).numpy()[back])
