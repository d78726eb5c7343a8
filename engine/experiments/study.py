"""The kind of job of a study: a payload is settings and seeds, and what its settings name stays what it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.experiments.contents import check
from engine.jobs import KINDS, Context, JobKind, Output
from engine.store.results import Result


def study(name: str, plan: Callable[[Mapping[str, Any]], list[str]],
          run_chunk: Callable[[Mapping[str, Any], str, Context], Output],
          finish: Callable[[Mapping[str, Any], Mapping[str, Result], Context], Output], *more: Any, **further: Any
          ) -> JobKind:
    """The kind of job, known from now on; its manifest has the seeds. more, further: as `JobKind` has them."""
    def checked(payload: Mapping[str, Any], key: str, context: Context) -> Output:
        check(payload)
        return run_chunk(payload, key, context)

    def finished(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
        output = finish(payload, chunks, context)
        return Output(output.tables, output.arrays, {"seeds": payload["seeds"], **output.manifest})

    return KINDS.add(name, JobKind(name, plan, checked, finished, *more, **further), replace=True)
