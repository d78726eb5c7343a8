"""The job that draws a map of the training set, where that takes longer than a page can wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.analysis.embedding import Embedding, embedding
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import ProblemSource
from engine.requests.prepared import drawn_problem
from engine.store.results import Result

KIND = "embedding"
NUMERICS = 1


def payload(source: ProblemSource, method: str, dimensions: int) -> dict[str, Any]:
    """What determines the map: source, method and dimensions."""
    return {"source": source.model_dump(mode="json"), "method": method, "dimensions": dimensions,
            "contents": source.contents, "numerics": NUMERICS}


def load(result: Result) -> Embedding:
    """The map of a finished run."""
    return Embedding(result.array("coordinates"))


def plan(data: Mapping[str, Any]) -> list[str]:
    return ["map"]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem = drawn_problem(data, context, 0.2).problem
    context.progress(0.2, "placing neighbours together")
    found = embedding(problem, data["method"], data["dimensions"])
    return Output(arrays={"coordinates": found.coordinates},
                  manifest={"data": problem.fingerprint, "device": device_name(str(problem.device))})


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    part = chunks["map"]
    return Output(arrays={"coordinates": part.array("coordinates")},
                  manifest={"data": part.manifest["data"], "device": part.manifest["device"],
                            "source": data["source"], "seeds": [data["source"]["seed"]]})


JOB = JobKind(KIND, plan, run_chunk, finish)
