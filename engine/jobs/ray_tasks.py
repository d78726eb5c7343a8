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
class Made:
    """What several chunks begin with, and what making it noted."""

    values: Handed
    notes: tuple[str, ...]


def compute(work: ChunkWork, key: str, variables: Mapping[str, str], board: Any,
            *before: Made | Took) -> Took:
    """Chunk `key`, and how long it took. One that another attempt has stored by now is not computed again. before: what
    it begins with, and what each chunk took that had to be stored before."""
    made = tuple(one for one in before if isinstance(one, Made))
    with _at_work(work, key, variables, board) as teller:
        return work.stored(key) or work(key, teller.tell, begin=partial(_take, work, made))


def make(work: ChunkWork, name: str, variables: Mapping[str, str], board: Any, *made: Made) -> Made:
    """What several chunks begin with."""
    shares = work.kind.shares
    assert shares is not None
    with _at_work(work, FOR_SEVERAL + name, variables, board) as teller, noting() as notes:
        context = work.context(teller.tell)
        _take(work, made, context)
        values = shares.make(work.payload, name, _together(made), context)
        teller.done()
        return Made(values, tuple(sorted(notes)))


@contextmanager
def _at_work(work: ChunkWork, name: str, variables: Mapping[str, str], board: Any) -> Iterator[Teller]:
    import ray

    os.environ.update(variables)
    plugins.load()
    with at_home(work.root):
        yield Teller(board, name, ray.get_runtime_context().get_node_id())


def _together(made: tuple[Made, ...]) -> dict[str, Any]:
    return {name: value for one in made for name, value in one.values.items()}


def _take(work: ChunkWork, made: tuple[Made, ...], context: Context) -> None:
    for one in made:
        note(*one.notes)
    if made and work.kind.shares is not None:
        work.kind.shares.take(work.payload, _together(made), context)
