"""The jobs behind *What if all of these?*: a group's effect beside its examples', and the curve of a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis import removal_curve as curves
from engine.analysis.groups import group_effect, whole_effect
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import Problem, ProblemSource
from engine.question import direction
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS
from engine.requests.prepared import drawn_problem, first_candidates
from engine.runs.scores import scorings_of
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Result

GROUP, CURVE = "group-effect", "removal-curve"
NUMERICS = 2
"""2: a group is trained with the seeds of its process, and rankings turn the sign of a negative α."""
WHOLE = "whole"
"""The one chunk: a group, or the models of a curve, are computed side by side."""


def group_payload(source: ProblemSource, scoring: Scoring, rows: Sequence[int], singles: bool = True
                  ) -> dict[str, Any]:
    """What determines a group's effect. rows: of the drawn training set; their order does not count. singles: whether
    each example's own effect is computed too."""
    return {"source": source.model_dump(mode="json"), "scorings": [scoring.canonical()],
            "rows": sorted({int(row) for row in rows}), "contents": source.contents, "numerics": NUMERICS,
            **({} if singles else {"singles": False})}


def curve_payload(source: ProblemSource, scorings: Sequence[Scoring], candidates: int, behavior: str, query: int,
                  random: int = curves.RANDOM, seed: int = 0) -> dict[str, Any]:
    """What determines the curves of rankings for one query, over the first of the drawn candidates."""
    return {"source": source.model_dump(mode="json"), "scorings": [one.canonical() for one in scorings],
            "candidates": candidates, "behavior": behavior, "query": query, "random": random, "seed": seed,
            "contents": source.contents, "numerics": NUMERICS}


def load(result: Result) -> pd.DataFrame:
    """Of a group: a row a query. Of a curve: a row a ranking, by its place among the scorings, and number removed."""
    return result.table(WHOLE)


def _group(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem, [scoring] = drawn_problem(data, context, 0.1).problem, scorings_of(data)
    if data.get("singles", True):
        found = group_effect(problem, scoring, data["rows"], context.computing("the group, and its examples", 0.1))
        columns = {"whole group": found.whole, "sum of examples": found.added, "additivity gap": found.gap,
                   "trusted": found.known}
    else:
        whole = whole_effect(problem, scoring, data["rows"], context.computing("the group", 0.1))
        columns = {"whole group": whole, "trusted": np.isfinite(whole)}
    table = pd.DataFrame({"query": range(len(problem.queries)), **columns})
    return Output({WHOLE: table}, manifest=_told(problem, scoring.readout))


def _curve(data: Mapping[str, Any], key: str, context: Context) -> Output:
    problem, scorings = first_candidates(data, context), scorings_of(data)
    found = compute(problem, scorings, context.computing("the rankings", 0.1))
    rankings = {str(place): (one.scoring, one.trusted) for place, one in enumerate(found)}
    curve = curves.removal_curve(problem, rankings, data["behavior"], [data["query"]], random=data["random"],
                                 seed=data["seed"], options=context.computing("models without the top", 0.3))
    return Output({WHOLE: curve.table()}, manifest=_told(problem, BEHAVIORS[data["behavior"]]))


def _told(problem: Problem, read: Behavior) -> dict[str, Any]:
    return {"data": problem.fingerprint, "device": device_name(str(problem.device)),
            direction.QUANTITY: {WHOLE: direction.raw_change(read)}}


def _finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    part = chunks[WHOLE]
    return Output({WHOLE: part.table(WHOLE)}, manifest={
        **{name: part.manifest[name] for name in ("data", "device", direction.QUANTITY) if name in part.manifest},
        "source": data["source"], "spec": data["scorings"], "seeds": [data["source"]["seed"]]})


GROUP_JOB = JobKind(GROUP, lambda data: [WHOLE], _group, _finish)
CURVE_JOB = JobKind(CURVE, lambda data: [WHOLE], _curve, _finish)
