"""In which precision passes of trainings ran: noted by whoever trains, gathered for the manifest of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

KEY = "passes"
"""Where a manifest says it."""

_around: ContextVar[set[str] | None] = ContextVar("passes", default=None)


def note(*said: str) -> None:
    """Say of a training, or of weights that are taken from an earlier one, how its passes ran."""
    if (passes := _around.get()) is not None:
        passes.update(said)


@contextmanager
def noting() -> Iterator[set[str]]:
    """What is noted inside, by this thread; whoever notes around it hears it too.

    >>> with noting() as outer, noting() as inner:
    ...     note("float32")
    >>> outer, inner
    ({'float32'}, {'float32'})
    """
    passes: set[str] = set()
    before = _around.set(passes)
    try:
        yield passes
    finally:
        _around.reset(before)
        note(*passes)


def manifest_part(passes: Iterable[str]) -> dict[str, list[str]]:
    """`{"passes": […]}` for a manifest; empty where nothing was trained."""
    distinct = sorted(set(passes))
    return {KEY: distinct} if distinct else {}
