"""The job of a scorecard: one chunk a benchmark, over all methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from engine.analysis.scorecard import BENCHMARKS, METHODS, Case, Sizes, card, fitting, running
from engine.basics.errors import InvalidInput
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import Problem, ProblemSource
from engine.requests.prepared import SHARES, first_candidates
from engine.store.results import Result

KIND, CARD = "scorecard", "scorecard"
NUMERICS = 4
"""4: a model of subclasses has one output for each pair, a row is at distance 0 from itself, and likelihoods keep their
digits."""


def payload(source: ProblemSource, sizes: Sizes, behavior: str = "query_loss", methods: Sequence[str] = (),
            benchmarks: Sequence[str] = ()) -> dict[str, Any]:
    """What determines a scorecard; methods and benchmarks that are left out: all that fit. Raises `InvalidInput` for
    names that are not known, and for those that the model has no answer for."""
    check(source.problem_class, methods, benchmarks)
    return {"source": source.model_dump(mode="json"), "sizes": sizes.model_dump(mode="json"), "behavior": behavior,
            "methods": list(methods) or fitting(source.problem_class), "candidates": sizes.candidates,
            "benchmarks": list(benchmarks) or running(source.problem_class),
            "contents": source.contents, "numerics": NUMERICS}


def check(problem: type[Problem], methods: Sequence[str], benchmarks: Sequence[str] = ()) -> None:
    """Raises `InvalidInput` for methods that have no answer for a model, and benchmarks that cannot be run on it."""
    for asked, known in (([METHODS[name].name for name in methods], fitting(problem)),
                         ([BENCHMARKS[name].name for name in benchmarks], running(problem))):
        for name in asked:
            if name not in known:
                raise InvalidInput(f"`{name}` has no answer for {problem.noun}; take some of {', '.join(known)}.")


def load(result: Result) -> pd.DataFrame:
    """A row a benchmark, measure and method; a card of an earlier version had the protocol `weights`."""
    return card.with_older(result.table(CARD))


def measured(problem: Problem, name: str, data: Mapping[str, Any], context: Context) -> pd.DataFrame:
    """The rows of one benchmark."""
    benchmark, sizes = BENCHMARKS[name], Sizes.parse(data["sizes"])
    case = Case(problem, data["methods"], data["behavior"], sizes, context.store,
                context.computing(benchmark.title, 0.1))
    return card.rows(benchmark, benchmark.measure(case), sizes)


def _run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem = first_candidates(data, context)
    return Output({CARD: measured(problem, key, data, context)},
                  manifest={"data": problem.fingerprint, "device": device_name(str(problem.device))})


def _finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    parts = [chunks[name] for name in data["benchmarks"]]
    return Output({CARD: pd.concat([part.table(CARD) for part in parts], ignore_index=True)},
                  manifest={**{name: parts[0].manifest[name] for name in ("data", "device")}, "source": data["source"],
                            "seeds": [data["source"]["seed"]], "sizes": data["sizes"]})


JOB = JobKind(KIND, lambda data: list(data["benchmarks"]), _run_chunk, _finish, shares=SHARES)
