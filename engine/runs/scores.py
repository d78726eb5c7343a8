"""The job that computes scores for a drawn problem: what the pages ask for when it takes too long to wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.jobs import Context, Handed, JobKind, Output, Shares
from engine.metrics.agreement import constant, pairwise
from engine.problems import ProblemSource
from engine.problems.handed import handed
from engine.requests.codec import kept_arrays, read_scores
from engine.requests.prepared import MODEL, drawn_problem, make_model, take_model
from engine.scoring.compute import compute
from engine.scoring.convergence import Convergence
from engine.scoring.cost.memory import held
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Result
from engine.store.sketch import MOST, Grid, Sketch

KIND = "scores"
SLICE = 100
LOOKED_AT = 20
"""Queries over which the small picture of a run takes its means."""
NUMERICS = 7


def payload(source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None = None, *,
            beside_exact: bool = False) -> dict[str, Any]:
    """What determines the scores: source, scorings and how many of the drawn candidates are scored.

    beside_exact: whether approximations are held against exact answers, in the precision of these.
    """
    return {"source": source.model_dump(mode="json"), "scorings": [s.canonical() for s in scorings],
            "contents": source.contents, "candidates": candidates, "numerics": NUMERICS,
            **({"precision": "float64"} if beside_exact else {})}


def load(result: Result, scorings: Sequence[Scoring]) -> list[Scores]:
    """The scores of a finished run, in the order of its scorings."""
    arrays, runs = result.arrays(), result.manifest["runs"]
    return [read_scores(scoring, arrays, place, runs[place]) for place, scoring in enumerate(scorings)]


def scorings_of(data: Mapping[str, Any]) -> list[Scoring]:
    """The scorings that a payload asks for, in its order. Raises `InvalidInput` for one that is not known here."""
    return [Scoring.read(spec) for spec in data["scorings"]]


def sketch(result: Result) -> Sketch | None:
    """Mean Kendall τ between the first scorings, over the first queries; None for a single scoring."""
    found = load(result, scorings_of(result.manifest["payload"]))[:MOST]
    if len(found) < 2:
        return None
    trusted = np.logical_and.reduce([scores.converged for scores in found])
    stack = np.stack([scores.oriented[:LOOKED_AT, trusted] for scores in found])
    if stack.shape[-1] < 2:
        return None
    flat = constant(stack)
    tau = np.where(flat[:, None] | flat[None], np.nan, pairwise(stack, ("kendall",))["kendall"])
    return Grid.of([[float(one[~np.isnan(one)].mean()) if (~np.isnan(one)).any() else np.nan for one in row]
                    for row in tau], -1.0, 1.0,
                   f"Matrix of rank correlations (mean Kendall τ over at most {LOOKED_AT} queries)")


def _groups(data: Mapping[str, Any]) -> list[list[int]]:
    """Positions of scorings that share their counterfactual models."""
    groups: dict[tuple, list[int]] = {}
    for place, scoring in enumerate(scorings_of(data)):
        groups.setdefault(scoring.counterfactual, []).append(place)
    return list(groups.values())


def _candidates(data: Mapping[str, Any]) -> int:
    """How many candidates are scored: the payload's number, up to what the source draws.

    Raises `InvalidInput` where neither says a number.
    """
    drawn, asked = data["source"]["n_candidates"] or data["source"]["n_train"], data["candidates"]
    if not drawn and not asked:
        raise InvalidInput("The run does not say how many candidates to score; give `candidates` or `n_candidates`.")
    return min(drawn or asked, asked or drawn)


def _slices(data: Mapping[str, Any], members: Sequence[int]) -> list[slice]:
    """Which candidates each chunk of a group scores: all at once where one computation answers for all of them."""
    count, process = _candidates(data), scorings_of(data)[members[0]].process
    width = count if process.at_once else SLICE
    return [slice(start, start + width) for start in range(0, count, width)]


def _options(data: Mapping[str, Any], context: Context, title: str, start: float) -> Options:
    """In the precision that the payload asks for."""
    return replace(context.computing(title, start), precision=data.get("precision", "auto"))


def plan(data: Mapping[str, Any]) -> list[str]:
    return [f"{group}/{part}" for group, members in enumerate(_groups(data))
            for part in range(len(_slices(data, members)))]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    group, part = map(int, key.split("/"))
    context.progress(0.0, "training the model")
    problem = drawn_problem(data, context, 0.5).problem
    whole = problem.with_candidates(problem.candidates[:_candidates(data)])
    members, scorings = _groups(data)[group], scorings_of(data)
    chosen = whole.candidates[_slices(data, members)[part]]
    context.progress(0.05, f"scoring: {scorings[members[0]].title}")
    found = compute(problem.with_candidates(chosen), [scorings[place] for place in members],
                    _options(data, context, scorings[members[0]].title, 0.05))
    arrays: dict[str, np.ndarray] = {"candidates": found[0].candidates}
    for place, scores in zip(members, found, strict=True):
        arrays |= kept_arrays(scores, place)
    fingerprint = whole.fingerprint if part == 0 else found[0].provenance["data"]  # of all slices, told by the first
    return Output(arrays=arrays, manifest={"runs": {str(place): {**scores.provenance, "data": fingerprint}
                                                    for place, scores in zip(members, found, strict=True)}})


def memory(data: Mapping[str, Any], key: str) -> int:
    group, part = map(int, key.split("/"))
    members, scorings = _groups(data)[group], scorings_of(data)
    piece, source = _slices(data, members)[part], ProblemSource.parse(data["source"])
    return held(source, [scorings[place] for place in members], min(piece.stop, _candidates(data)) - piece.start)


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    scorings = scorings_of(data)
    arrays: dict[str, np.ndarray] = {}
    runs: list[Any] = [None] * len(scorings)
    for group, members in enumerate(_groups(data)):
        parts = [chunks[f"{group}/{part}"] for part in range(len(_slices(data, members)))]
        pieces = [part.arrays() for part in parts]
        arrays["candidates"] = np.concatenate([piece["candidates"] for piece in pieces])
        for place in members:
            for name in ("values", "converged", "residual", "resolved", "error", "standard_error"):
                if f"{place}|{name}" not in pieces[0]:  # there is no standard error of a single run
                    continue
                arrays[f"{place}|{name}"] = np.concatenate([piece[f"{place}|{name}"] for piece in pieces], -1)
            runs[place] = _joined([part.manifest["runs"][str(place)] for part in parts])
            runs[place].pop("noise_of_seeds", None)  # of one slice
    return Output(arrays=arrays, manifest={"runs": runs, "spec": data["scorings"], "source": data["source"],
                                           "seeds": [data["source"]["seed"]], "device": runs[0]["device"]})


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One provenance for a scoring out of those of its slices."""
    convergence = [Convergence.read(parts[0]["exact"], part["convergence"]) for part in parts]
    resolution = [part["resolution"] for part in parts]
    counts = {name: sum(one[name] for one in resolution) for name in ("below", "of", "no_error_bound")}
    return {**parts[0],
            "resolution": {**resolution[0], **counts},
            "sizes": {**parts[0]["sizes"], "candidates": sum(part["sizes"]["candidates"] for part in parts)},
            "wall_seconds": round(sum(part["wall_seconds"] for part in parts), 3),
            "convergence": Convergence.joined(convergence).written}


def _begun_with(data: Mapping[str, Any], key: str) -> Sequence[str]:
    return MODEL, key.partition("/")[0]


def _make(data: Mapping[str, Any], name: str, taken: Handed, context: Context) -> Handed:
    """The model; or what a group of scorings computes for its first candidate and needs again for the others, such as
    a factorised Hessian or projected gradients."""
    if name == MODEL:
        return make_model(data, name, taken, context)
    problem, scorings = drawn_problem(data, context, 0.1).problem, scorings_of(data)
    asked = [scorings[place] for place in _groups(data)[int(name)]]
    compute(problem.with_candidates(problem.candidates[:1]), asked, _options(data, context, asked[0].title, 0.1))
    return handed(problem, taken)


JOB = JobKind(KIND, plan, run_chunk, finish, memory=memory, shares=Shares(_begun_with, _make, take_model),
              sketch=sketch)
