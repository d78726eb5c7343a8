"""What runs on a node of a Ray cluster: one chunk, or what several chunks begin with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.basics import plugins
from engine.basics.folders import at_home
from engine.basics.noted import note, noting
from engine.jobs.executor import ChunkWork, Took
from engine.jobs.kinds import Context, Handed
from engine.jobs.ray_cluster import Teller

FOR_SEVERAL = "for several parts: "
"""How what chunks begin with is told from chunks where both are shown."""


@dataclass(frozen=True)
class Prepared:
    """What several chunks begin with, and what making it noted."""

    values: Handed
    notes: tuple[str, ...]


def compute(work: ChunkWork, key: str, variables: Mapping[str, str], board: Any, *before: Prepared | Took) -> Took:
    """Chunk `key`, and how long it took. One that another attempt has stored by now is not computed again. before: what
    it begins with, and what each chunk took that had to be stored before."""
    prepared = tuple(one for one in before if isinstance(one, Prepared))
    with _at_work(work, key, variables, board) as teller:
        return work(key, teller.report, begin=partial(_take, work, prepared))


def make(work: ChunkWork, name: str, variables: Mapping[str, str], board: Any, *prepared: Prepared) -> Prepared:
    """What several chunks begin with."""
    shares = work.kind.shares
    assert shares is not None
    with _at_work(work, FOR_SEVERAL + name, variables, board) as teller, noting() as notes:
        context = work.context(teller.report)
        _take(work, prepared, context)
        values = shares.make(work.payload, name, _together(prepared), context)
        teller.done()
        return Prepared(values, tuple(sorted(notes)))


@contextmanager
def _at_work(work: ChunkWork, name: str, variables: Mapping[str, str], board: Any) -> Iterator[Teller]:
    import ray

    os.environ.update(variables)
    plugins.load()
    with at_home(work.root):
        yield Teller(board, work.job, name, ray.get_runtime_context().get_node_id())


def _together(prepared: tuple[Prepared, ...]) -> dict[str, Any]:
    return {name: value for one in prepared for name, value in one.values.items()}


def _take(work: ChunkWork, prepared: tuple[Prepared, ...], context: Context) -> None:
    for one in prepared:
        note(*one.notes)
    if prepared and work.kind.shares is not None:
        work.kind.shares.take(work.payload, _together(prepared), context)
