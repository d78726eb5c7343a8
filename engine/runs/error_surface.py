"""The job that computes an error surface, one row of it a chunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.analysis.error_surfaces import SURFACES, surface_row
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.metrics.agreement import METRICS
from engine.problems import ProblemSource
from engine.requests.prepared import SHARES, first_candidates
from engine.store.results import Result
from engine.store.sketch import Grid, Sketch

KIND = "error-surface"
NUMERICS = 2


def payload(source: ProblemSource, surface: str, behavior: str, candidates: int) -> dict[str, Any]:
    """What determines the surface: source, which one, the behavior and how many of the drawn candidates."""
    return {"source": source.model_dump(mode="json"), "surface": surface, "behavior": behavior,
            "candidates": candidates, "contents": source.contents, "numerics": NUMERICS}


def load(result: Result) -> dict[str, np.ndarray]:
    """metric -> (rows, columns, m), of a finished run."""
    return {metric: result.array(metric) for metric in METRICS}


def sketch(result: Result) -> Sketch:
    """Mean Kendall τ over queries, as a grid."""
    return Grid.of(result.array("kendall_tau").mean(-1), -1.0, 1.0, "Error surface: mean Kendall τ")


def plan(data: Mapping[str, Any]) -> list[str]:
    return [repr(value) for value in SURFACES[data["surface"]].rows]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem = first_candidates(data, context)
    found = surface_row(problem, data["surface"], data["behavior"], float(key),
                        context.computing(f"the row at {key}", 0.1))
    return Output(arrays=found, manifest={"data": problem.fingerprint, "device": device_name(str(problem.device))})


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    rows = [chunks[key] for key in plan(data)]
    return Output(arrays={metric: np.stack([row.array(metric) for row in rows]) for metric in METRICS},
                  manifest={"data": rows[0].manifest["data"], "device": rows[0].manifest["device"],
                            "source": data["source"], "seeds": [data["source"]["seed"]]})


JOB = JobKind(KIND, plan, run_chunk, finish, sketch=sketch, shares=SHARES)
