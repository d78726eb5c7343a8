"""The job that asks one question of several training runs: a chunk a run, so that one that was interrupted goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.analysis.over_seeds import OverSeeds, of_runs, outcomes, run_of, seeds_of
from engine.basics.errors import Undifferentiable
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import ProblemSource
from engine.requests.prepared import SHARES, first_candidates
from engine.runs.scores import kept_arrays, read_scores
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Result

KIND = "over-seeds"
NUMERICS = 1


@dataclass(frozen=True)
class Asked:
    """What a finished run holds: the scores over seeds, and B(q; θ^s) of the runs themselves, outcomes (s, m)."""

    found: OverSeeds
    outcomes: np.ndarray


def payload(source: ProblemSource, scoring: Scoring, candidates: int, seeds: int) -> dict[str, Any]:
    """What determines it: source, question, how many of the drawn candidates are scored, and how many runs."""
    return {"source": source.model_dump(mode="json"), "scoring": scoring.canonical(), "candidates": candidates,
            "seeds": seeds, "contents": source.contents, "numerics": NUMERICS}


def load(result: Result) -> Asked | str:
    """What a finished run found, or the sentence that says why a training cannot be differentiated."""
    told, arrays = result.manifest, result.arrays()
    if told["refused"]:
        return str(told["refused"])
    scoring = Scoring.read(told["spec"])
    single = [read_scores(run_of(scoring, place), arrays, place, run) for place, run in enumerate(told["runs"])]
    return Asked(of_runs(single, scoring, told["payload"]["source"]["seed"]), arrays["outcomes"])


def plan(data: Mapping[str, Any]) -> list[str]:
    return [str(place) for place in range(data["seeds"])]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem, scoring = first_candidates(data, context), Scoring.read(data["scoring"])
    asked = run_of(scoring, int(key))
    try:
        scores = compute(problem, asked, context.computing(f"run {int(key) + 1} of {data['seeds']}", 0.1))[0]
    except Undifferentiable as error:
        return Output(manifest={"refused": str(error)})
    before = outcomes(problem, scoring, seeds_of(asked, data["source"]["seed"]))
    return Output(arrays={**kept_arrays(scores, int(key)), "candidates": scores.candidates, "outcomes": before},
                  manifest={"refused": "", "run": scores.provenance, "device": device_name(str(problem.device))})


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    told = [chunks[key].manifest for key in plan(data)]
    facts = {"spec": data["scoring"], "source": data["source"], "seeds": [data["source"]["seed"]]}
    if refused := next((one["refused"] for one in told if one["refused"]), ""):
        return Output(manifest={**facts, "refused": refused})
    parts = [chunks[key].arrays() for key in plan(data)]
    arrays = {name: values for part in parts for name, values in part.items()}
    return Output(arrays={**arrays, "outcomes": np.concatenate([part["outcomes"] for part in parts])},
                  manifest={**facts, "refused": "", "runs": [one["run"] for one in told], "device": told[0]["device"]})


JOB = JobKind(KIND, plan, run_chunk, finish, shares=SHARES)
