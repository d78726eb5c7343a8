"""The job that computes the self-influence of many candidates, where that takes longer than a page can wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.analysis.self_influence import self_influence
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import ProblemSource
from engine.requests.prepared import SHARES, first_candidates
from engine.runs.scores import scorings_of
from engine.scoring.scoring import Scoring
from engine.store.results import Result

KIND = "self-influence"
SLICE = 50
NUMERICS = 4
"""4: the sign of a negative α is turned, and likelihoods keep their digits."""


def payload(source: ProblemSource, scoring: Scoring, candidates: int) -> dict[str, Any]:
    """What determines the values: source, scoring and how many of the drawn candidates are scored."""
    return {"source": source.model_dump(mode="json"), "scorings": [scoring.canonical()], "candidates": candidates,
            "contents": source.contents, "numerics": NUMERICS}


def load(result: Result) -> np.ndarray:
    """The values of a finished run, (k,); NaN where one did not converge."""
    return result.array("values")


def plan(data: Mapping[str, Any]) -> list[str]:
    return [str(part) for part in range(-(-data["candidates"] // SLICE))]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem, start = first_candidates(data, context), int(key) * SLICE
    part = problem.with_candidates(problem.candidates[start:start + SLICE])
    values = self_influence(part, scorings_of(data)[0], context.computing("self-influence", 0.1))
    return Output(arrays={"values": values, "candidates": part.candidates.cpu().numpy()},
                  manifest={"data": problem.fingerprint, "device": device_name(str(problem.device))})


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    parts = [chunks[key] for key in plan(data)]
    pieces = [part.arrays() for part in parts]
    return Output(arrays={name: np.concatenate([piece[name] for piece in pieces]) for name in ("values", "candidates")},
                  manifest={"data": parts[0].manifest["data"], "device": parts[0].manifest["device"],
                            "spec": data["scorings"], "source": data["source"], "seeds": [data["source"]["seed"]]})


JOB = JobKind(KIND, plan, run_chunk, finish, shares=SHARES)
