"""Training gradients in shards that may be computed anywhere and in any order, and the cache that they are put into.

A shard is a run of whole batches, in the order in which one process would go through them: every record then meets the
same batch, and the merged cache has the same bytes as one that was filled in one go. All shards have about as many
tokens, so that each takes about as long. A shard is found by the content of its records, besides what determines every
cache of the training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.applications.language.attribution import Attribution
from engine.applications.language.cache import Cache
from engine.applications.language.fine_tuned import Check, Progress
from engine.basics.files import discard
from engine.data.tasks import TASKS
from engine.models.causal import passes
from engine.models.causal.finetune import FineTuneCheckpoint
from engine.store.results import home

SIZE = 1000
"""About how many records a shard has. Fewer are not divided."""
HELD = frozenset({"validation", "test", "held"})
"""The sizes of tasks that are not of training records."""


def trained_on(task: Mapping[str, Any]) -> int:
    """About how many records a task trains on, without drawing them; 0 where that cannot be told."""
    train = task.get("train")
    if isinstance(train, str):
        path = Path(train)
        return sum(1 for line in path.read_bytes().splitlines() if line.strip()) if path.is_file() else 0
    if train is not None:
        return len(train)
    return sum(task.get(name, size) for name, size in TASKS[task["name"]].sizes.items() if name not in HELD)


def count(task: Mapping[str, Any]) -> int:
    """How many shards the records of a task are divided into."""
    return max(1, -(-trained_on(task) // SIZE))


@dataclass(frozen=True, eq=False)
class Shards:
    """The training records of a run, divided into `of` shards."""

    run: Attribution
    of: int

    def rows(self, number: int) -> list[int]:
        """The training records of shard 0, 1, …, in the order in which they are computed; [] where batches are
        fewer."""
        return self._all[number]

    @cached_property
    def _all(self) -> list[list[int]]:
        run, shards = self.run, [list[int]() for _ in range(self.of)]
        batches = list(passes.batches(run.encoded, run.setting.recipe.batch, torch.device(run.device),
                                      numbers=run.numbers))
        tokens = np.array([sum(len(run.encoded[row].ids) for row in batch) for batch in batches])
        middle = tokens.cumsum() - tokens / 2
        for batch, position in zip(batches, middle / tokens.sum() * self.of, strict=True):
            shards[int(position)] += batch
        return shards

    def fill(self, point: FineTuneCheckpoint, number: int, check: Check = lambda: None,
             progress: Progress = lambda fraction: None) -> None:
        """Compute a shard, unless it is there, or the whole cache, or that is filled in memory."""
        own, whole = self.rows(number), self.run.opened_records(point)
        if own and whole.on_disk and not whole.sealed:
            self.run.record_cache(point, check, progress, own)
        else:
            progress(1.0)

    def merged(self, point: FineTuneCheckpoint, check: Check = lambda: None,
               progress: Progress = lambda fraction: None) -> Cache:
        """The cache of all records out of its shards, which are removed, also where the cache was complete already: who
        completed it may have stopped before. What no shard holds is computed."""
        cache = self.run.opened_records(point)
        divided = self.of > 1 and cache.on_disk
        shards = [own for own in self._all if own] if divided else []
        opened = [self.run.opened_records(point, own) for own in shards]
        for own, shard in zip(shards, opened, strict=True):
            check()
            if shard.sealed and not cache.sealed:
                cache.put(own, {name: shard[name] for name in cache.columns})
        whole = self.run.record_cache(point, check, progress)
        for shard in opened:
            discard(shard.folder, home() / "tmp")
        return whole
