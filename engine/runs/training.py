"""The job that trains a network: what a page asks for before it can score, where training takes more than a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import ProblemSource
from engine.requests.prepared import drawn_problem
from engine.store.results import Result

KIND = "training"
NUMERICS = 1


def payload(source: ProblemSource) -> dict[str, Any]:
    """What determines the weights; how many queries and candidates are drawn does not."""
    plain = source.model_copy(update={"n_test": None, "n_queries": None, "n_candidates": None})
    return {"source": plain.model_dump(mode="json"), "contents": source.contents, "numerics": NUMERICS}


def plan(data: Mapping[str, Any]) -> list[str]:
    return ["train"]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    drawn = drawn_problem(data, context, 0.95)
    return Output(manifest={"facts": dict(drawn.problem.facts), "test_accuracy": drawn.test_accuracy(),
                            "device": device_name(str(drawn.problem.device))})


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    told = chunks["train"].manifest
    return Output(manifest={"source": data["source"], "seeds": [data["source"]["seed"]],
                            **{key: told[key] for key in ("facts", "test_accuracy", "device")}})


JOB = JobKind(KIND, plan, run_chunk, finish)
