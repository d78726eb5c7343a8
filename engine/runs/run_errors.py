"""The job that compares approximations of a training's derivative with it, and says when examples matter in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.analysis.run_errors import RunErrors, run_errors
from engine.basics.errors import Undifferentiable
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import ProblemSource
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import Replay
from engine.runs.prepared import first_candidates
from engine.store.results import Result

KIND = "run-errors"
NUMERICS = 2
TABLES = ("causes", "methods", "parts")
FACTS = ("data", "device", "source", "seeds", "refused", "why", direction.QUANTITY)


def payload(source: ProblemSource, behavior: str, candidates: int, process: Replay) -> dict[str, Any]:
    """What determines it: source, behavior, how many of the drawn candidates are scored, and the run."""
    return {"source": source.model_dump(mode="json"), "behavior": behavior, "candidates": candidates,
            "process": process.model_dump(mode="json"), "contents": source.contents, "numerics": NUMERICS}


def load(result: Result) -> RunErrors | str:
    """What a finished run found, or the sentence that says why the run cannot be differentiated."""
    told = result.manifest
    if told["refused"]:
        return str(told["refused"])
    causes, methods, parts = (result.table(name) for name in TABLES)
    return RunErrors(told["payload"]["behavior"], causes, methods, parts, told["why"])


def plan(data: Mapping[str, Any]) -> list[str]:
    return ["whole"]


def weight(data: Mapping[str, Any], key: str) -> float:
    return 1.0


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem, process = first_candidates(data, context), Replay.model_validate(data["process"])
    facts = {"data": problem.fingerprint, "device": device_name(str(problem.device)), "source": data["source"],
             "seeds": [data["source"]["seed"]]}
    try:
        found = run_errors(problem, data["behavior"], process, context.computing("the training, differentiated", 0.1))
    except Undifferentiable as error:
        return Output(manifest={**facts, "refused": str(error)})
    return Output(tables={name: getattr(found, name) for name in TABLES},
                  manifest={**facts, "refused": "", "why": found.why,
                            direction.QUANTITY: {"parts": direction.mean_rate(BEHAVIORS[data["behavior"]])}})


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    told = chunks["whole"].manifest
    facts: dict[str, Any] = {name: told[name] for name in FACTS if name in told}
    return Output(tables={} if told["refused"] else {name: chunks["whole"].table(name) for name in TABLES},
                  manifest=facts)


JOB = JobKind(KIND, plan, run_chunk, finish, weight)
