"""The kind of job of a study: a payload is settings and seeds, and what its settings name stays what it was; and what
studies share of drawing a problem and of averaging measures over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import pandas as pd

from engine.basics.provenance import versions_of
from engine.experiments.contents import check
from engine.jobs import KINDS, Context, JobKind, Output
from engine.metrics import seed_means
from engine.problems import ProblemSource, SampledProblem, build_cached
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


def sampled(source: Mapping[str, Any], seed: int, context: Context, start: float = 0.0, end: float = 0.0
            ) -> SampledProblem:
    """The problem of a seed, trained from the fraction `start` to `end` of the chunk."""
    return build_cached(ProblemSource.parse({**source, "seed": seed}), context.device, check=context.check,
                        progress=context.part(f"training, seed {seed}", start, end))


def measures(payload: Mapping[str, Any], chunks: Mapping[str, Result], cases: Mapping[str, Mapping[str, str]],
             rows: Callable[[pd.DataFrame], Iterable[Mapping[str, Any]]], said: Sequence[str], *libraries: str
             ) -> Output:
    """The table `measures` over seeds, of chunks `SEED` or `SEED/CASE` that each have one.

    cases: the end of a chunk's key -> the columns of its rows. rows: those of a case out of a frame with a row a
    measure, by all columns but `value`, and a column a seed. said: what of each chunk's manifest stands among the runs.
    """
    listed, runs = [], []
    for case, columns in cases.items():
        results = {seed: chunks[f"{seed}/{case}" if case else str(seed)] for seed in payload["seeds"]}
        tables = pd.concat([one.table("measures").assign(seed=seed) for seed, one in results.items()])
        keys = [column for column in tables if column not in ("seed", "value")]
        by_seed = tables.pivot_table(index=keys, columns="seed", values="value", sort=False)
        listed += [{**columns, **row} for row in rows(by_seed)]
        runs += [{**columns, "seed": seed, **{name: one.manifest[name] for name in said}}
                 for seed, one in results.items()]
    first = next(iter(chunks.values())).manifest
    return Output({"measures": pd.DataFrame(listed)}, manifest={
        "spec": payload["settings"], "runs": runs, "data": runs[0]["data"], "device": first["device"],
        **({"libraries": versions_of(*libraries)} if libraries else {})})


def summaries(by_seed: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A row a measure of such a frame, with its mean and interval."""
    for key, values in by_seed.iterrows():
        yield {**dict(zip(by_seed.index.names, map(str, cast(tuple, key)), strict=True)), **seed_means.summary(values)}
