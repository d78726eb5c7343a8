"""The job that computes the self-influence of many candidates, where that takes longer than a page can wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.analysis.self_influence import self_influence
from engine.basics.options import Options
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import Problem, ProblemSource, build_kept
from engine.runs.scores import scorings_of
from engine.scoring.scoring import Scoring

KIND = "self-influence"
SLICE = 50
NUMERICS = 1


def payload(source: ProblemSource, scoring: Scoring, candidates: int) -> dict[str, Any]:
    """What determines the values: source, scoring and how many of the drawn candidates are scored."""
    return {"source": source.model_dump(mode="json"), "scorings": [scoring.canonical()], "candidates": candidates,
            "numerics": NUMERICS}


def load(result) -> np.ndarray:
    """The values of a finished run, (k,); NaN where one did not converge."""
    return result.array("values")


def plan(data: Mapping[str, Any]) -> list[str]:
    return [str(part) for part in range(-(-data["candidates"] // SLICE))]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem, start = _problem(data, context), int(key) * SLICE
    part = problem.with_candidates(problem.candidates[start:start + SLICE])
    options = Options(budget=int(context.options.get("budget", 4 << 30)), check=context.check,
                      progress=lambda share: context.progress(0.1 + 0.9 * share, "self-influence"))
    values = self_influence(part, scorings_of(data)[0], options)
    return Output(arrays={"values": values, "candidates": part.candidates.cpu().numpy()},
                  manifest={"data": problem.fingerprint, "device": device_name(str(problem.device))})


def finish(data: Mapping[str, Any], chunks, context: Context) -> Output:
    parts = [chunks[key] for key in plan(data)]
    pieces = [part.arrays() for part in parts]
    return Output(arrays={name: np.concatenate([piece[name] for piece in pieces]) for name in ("values", "candidates")},
                  manifest={"data": parts[0].manifest["data"], "device": parts[0].manifest["device"],
                            "spec": data["scorings"], "source": data["source"], "seeds": [data["source"]["seed"]]})


def _problem(data: Mapping[str, Any], context: Context) -> Problem:
    drawn = build_kept(ProblemSource.parse(data["source"]), context.options.get("device", "cpu"), check=context.check,
                       progress=lambda share: context.progress(0.1 * share, "training the model"))
    return drawn.problem.with_candidates(drawn.problem.candidates[:data["candidates"]])


JOB = JobKind(KIND, plan, run_chunk, finish)
