"""The job that checks how far the derivative of a training run reaches: real trainings with other weights take long."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

import pandas as pd

from engine.analysis.linear_range import EPSILONS, LinearRange, precision, reach, smoothness
from engine.basics.errors import Undifferentiable
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.models.knobs import Knob
from engine.problems import ProblemSource
from engine.question.processes import Replay
from engine.runs.prepared import SHARES, first_candidates
from engine.store.results import Result

KIND = "linear-range"
NUMERICS = 1
WHOLE = "whole"
"""The chunk of what is measured once for the run; the others are candidates."""


def payload(source: ProblemSource, behavior: str, candidates: int, process: Replay) -> dict[str, Any]:
    """What determines the check: source, behavior, how many of the drawn candidates are tried, and the run."""
    return {"source": source.model_dump(mode="json"), "behavior": behavior, "candidates": candidates,
            "process": process.model_dump(mode="json"), "contents": source.contents, "numerics": NUMERICS}


def load(result: Result) -> LinearRange | str:
    """The check of a finished run, or the sentence that says why the run cannot be differentiated."""
    told = result.manifest
    if told["refused"]:
        return str(told["refused"])
    turned = {float(h): nan if cosine is None else cosine for h, cosine in told["smoothness"]}
    return LinearRange(told["payload"]["behavior"], result.table("errors"), turned,
                       nan if told["precision"] is None else told["precision"],
                       tuple(Knob(**knob) for knob in told["knobs"]))


def plan(data: Mapping[str, Any]) -> list[str]:
    return [WHOLE, *map(str, range(data["candidates"]))]


def weight(data: Mapping[str, Any], key: str) -> float:
    """In trainings: a differentiated one takes as long as several."""
    return 20.0 if key == WHOLE else 2.0 * len(EPSILONS)


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem, process = first_candidates(data, context), Replay.model_validate(data["process"])
    facts = {"data": problem.fingerprint, "device": device_name(str(problem.device))}
    try:
        if key != WHOLE:
            chosen = problem.with_candidates(problem.candidates[int(key):int(key) + 1])
            table = reach(chosen, data["behavior"], process, EPSILONS, context.computing("real trainings", 0.1))
            return Output(tables={"errors": table}, manifest={**facts, "refused": ""})
        options = context.computing("smoothness and precision of the run", 0.1)
        off = precision(problem.with_candidates(problem.candidates[:1]), data["behavior"], process, options)
        turned = smoothness(problem, data["behavior"], process, options)
    except Undifferentiable as error:
        return Output(manifest={**facts, "refused": str(error)})
    return Output(manifest={**facts, "refused": "", "precision": off if isfinite(off) else None,
                            "smoothness": [[h, cosine if isfinite(cosine) else None] for h, cosine in turned.items()],
                            "knobs": [vars(knob) for knob in problem.knobs(process)]})


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    told = [chunks[key].manifest for key in plan(data)]
    refused = next((one["refused"] for one in told if one["refused"]), "")
    facts = {"data": told[0]["data"], "device": told[0]["device"], "source": data["source"], "refused": refused,
             "seeds": [data["source"]["seed"]]}
    if refused:
        return Output(manifest=facts)
    table = pd.concat([chunks[key].table("errors") for key in plan(data) if key != WHOLE], ignore_index=True)
    return Output(tables={"errors": table}, manifest={
        **facts, **{name: told[0][name] for name in ("smoothness", "precision", "knobs")}})


JOB = JobKind(KIND, plan, run_chunk, finish, weight, shares=SHARES)
