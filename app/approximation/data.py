"""What the approximation-error page shows: agreement along η and α, a little at a time.

Over η a point of softmax regression costs a fraction of a second, so the page computes a few points each time it is
drawn, nearest work first. Over α every point means re-optimising every candidate, so each draw's curve is a job of
its own; only the point under the marker is computed at once. A network's curves are jobs over both, and its marker
stands on points of the curves.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import streamlit as st

from app import workbench
from app.approximation import runs as error_runs
from app.widgets import labels
from app.workbench import Waiting
from engine.analysis import error_curves as engine_curves
from engine.analysis.error_curves import ETAS, PerQuery
from engine.metrics.agreement import METRICS, summarize
from engine.problems import ProblemSource, SoftmaxProblem
from engine.question.behaviors import BEHAVIORS
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

STEP_SECONDS = 0.6
KEPT_POINTS = 800


@dataclass(frozen=True)
class Curves:
    """Tidy frames of what is known so far. means: series, x, metric, mean, ci95, low, high, n_seeds, …; seeds: one
    row a draw. done of total parts; waiting: the jobs or trainings still under way."""

    means: pd.DataFrame
    seeds: pd.DataFrame
    done: int
    total: int
    waiting: tuple[Waiting, ...] = ()

    @property
    def complete(self) -> bool:
        return self.done >= self.total


@dataclass(frozen=True)
class Point:
    """The chosen point: exact and approximate scores of one draw, and their agreement per query."""

    exact: Scores
    approximate: Scores
    agreement: PerQuery = field(repr=False)


class StepPoints:
    """Agreement at each (draw, η) computed so far, the latest KEPT_POINTS of them, for all sessions of the server."""

    def __init__(self) -> None:
        self._points: OrderedDict[tuple, dict[str, PerQuery]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple) -> dict[str, PerQuery] | None:
        with self._lock:
            return self._points.get(key)

    def put(self, key: tuple, point: dict[str, PerQuery]) -> None:
        with self._lock:
            self._points[key] = point
            while len(self._points) > KEPT_POINTS:
                self._points.popitem(last=False)


@st.cache_resource(show_spinner=False)
def _step_points() -> StepPoints:
    return StepPoints()


def live(source: ProblemSource) -> bool:
    """Whether single points are computed at once, beside the curves."""
    return source.kind == SoftmaxProblem.kind


def step_numbers(source: ProblemSource, eta: float, candidates: int | None = None) -> dict[str, PerQuery] | Waiting:
    """behavior -> metric -> (m,) at one η of one draw: computed now unless it is known, or out of a network's run."""
    if not live(source):
        run = error_runs.run(source, "eta", candidates)
        return run if isinstance(run, Waiting) else _run_numbers(run, source.kind, eta)
    key = (source.model_dump_json(), eta, engine_curves.differentiable())
    known = _step_points().get(key)
    if known is None:
        drawn = workbench.drawn(source)
        if isinstance(drawn, Waiting):
            return drawn
        known = engine_curves.step_agreement(drawn.problem, eta)
        _step_points().put(key, known)
    return known


def _run_numbers(run: str, kind: str, eta: float) -> dict[str, PerQuery]:
    return {behavior: found for (behavior, at), found in error_runs.eta_agreement(run, kind).items() if at == eta}


def eta_curves(sources: Sequence[ProblemSource], seconds: float = STEP_SECONDS,
               candidates: int | None = None) -> Curves:
    """First order against exact over the η grid: what is known, and as many new points as fit into `seconds`."""
    if not live(sources[0]):
        return _from_runs(sources, "eta", candidates, lambda run, kind: {
            (BEHAVIORS[behavior].title, eta): found
            for (behavior, eta), found in error_runs.eta_agreement(run, kind).items()})
    deadline, known, waiting = time.monotonic() + seconds, {}, ()
    for source in sources:
        for eta in ETAS:
            found = _step_points().get((source.model_dump_json(), eta, engine_curves.differentiable()))
            if found is None and time.monotonic() < deadline and not waiting:
                found = step_numbers(source, eta)
                if isinstance(found, Waiting):
                    waiting, found = (found,), None
            if found is not None:
                known[source.seed, eta] = found
    points = {(BEHAVIORS[behavior].title, eta): {seed: known[seed, eta][behavior] for seed, at in known if at == eta}
              for eta in ETAS for behavior in engine_curves.differentiable()}
    return _curves(points, len(known), len(sources) * len(ETAS), waiting)


def alpha_curves(sources: Sequence[ProblemSource], candidates: int, behavior: str) -> Curves:
    """Every inverse-Hessian solver against the optimum over the α grid, from the draws whose job is done."""
    return _from_runs(sources, "alpha", candidates, lambda run, kind: {
        (labels.solver_title(solver), alpha): found
        for (solver, alpha), found in error_runs.alpha_agreement(run, behavior, kind).items()})


def _from_runs(sources: Sequence[ProblemSource], panel: str, candidates: int,
               agreements: Callable[[str, str], Mapping[tuple[str, float], PerQuery]]) -> Curves:
    """The curves of every draw whose run is done; agreements(digest, kind): (series, x) -> metric -> (m,)."""
    points, done, waiting = {}, 0, []
    for source in sources:
        run = error_runs.run(source, panel, candidates)
        if isinstance(run, Waiting):
            waiting.append(run)
            continue
        done += 1
        for place, found in agreements(run, source.kind).items():
            points.setdefault(place, {})[source.seed] = found
    return _curves(points, done, len(sources), tuple(waiting))


def eta_point(source: ProblemSource, behavior: str, eta: float, candidates: int | None = None) -> Point | Waiting:
    """Exact and first-order scores of every candidate at one η: now, or out of a network's run."""
    pair = engine_curves.step_pair(behavior, eta)
    if not live(source):
        run = error_runs.run(source, "eta", candidates)
        if isinstance(run, Waiting):
            return run
        known = error_runs.scores(run, "eta", source.kind)
        return Point(known[pair[0]], known[pair[1]], _run_numbers(run, source.kind, eta)[behavior])
    found = workbench.scores(source, list(pair), None)
    if isinstance(found, Waiting):
        return found
    return Point(*found, step_numbers(source, eta)[behavior])


def alpha_point(source: ProblemSource, behavior: str, alpha: float, solver: str, candidates: int) -> Point | Waiting:
    """Exact scores of upweighting by α, re-optimised now or out of the finished run, and those of one solver."""
    run, kind = error_runs.run(source, "alpha", candidates), source.kind
    if isinstance(run, Waiting) and not live(source):
        return run
    run = None if isinstance(run, Waiting) else run
    exact = _scores(source, behavior, lambda name: engine_curves.upweighted(name, alpha, kind), candidates, run)
    if isinstance(exact, Waiting):
        return exact
    unit = _scores(source, behavior, lambda name: engine_curves.solver_scoring(name, solver, kind=kind), candidates,
                   run)
    if isinstance(unit, Waiting):
        return unit
    found = _point_agreement(source.model_dump_json(), candidates, behavior, alpha, solver, exact, unit)
    return Point(exact, engine_curves.at_alpha(unit, alpha), found)


def alpha_points(source: ProblemSource, behavior: str, alpha: float, candidates: int,
                 chosen: str) -> dict[str, Point]:
    """The chosen point under every solver whose scores are at hand: all of them once the draw's run is done."""
    waiting = isinstance(error_runs.run(source, "alpha", candidates), Waiting)
    solvers = [chosen] if waiting else list(engine_curves.solvers(source.kind))
    found = {solver: alpha_point(source, behavior, alpha, solver, candidates) for solver in solvers}
    return {solver: point for solver, point in found.items() if isinstance(point, Point)}


def _scores(source, behavior: str, scoring: Callable[[str], Scoring], candidates: int, run: str | None):
    """Scores of one behavior: from the finished run if they are in it, else live, all behaviors at once."""
    known = error_runs.scores(run, "alpha", source.kind) if run else {}
    if scoring(behavior) in known:
        return known[scoring(behavior)]
    behaviors = engine_curves.differentiable()
    found = workbench.scores(source, [scoring(name) for name in behaviors], candidates)
    return found if isinstance(found, Waiting) else found[behaviors.index(behavior)]


@st.cache_data(show_spinner=False, max_entries=400)
def _point_agreement(source_json: str, candidates: int, behavior: str, alpha: float, solver: str,
                     _exact: Scores, _unit: Scores) -> PerQuery:
    return engine_curves.agreement(_exact, engine_curves.at_alpha(_unit, alpha))


def _curves(points: Mapping[tuple[str, float], Mapping[int, PerQuery]], done: int, total: int,
            waiting: tuple[Waiting, ...]) -> Curves:
    means, seeds = [], []
    for (series, x), by_seed in points.items():
        if not by_seed:
            continue
        for row in engine_curves.summary(list(by_seed.values())):
            per_seed, half = row.pop("per_seed"), np.nan_to_num(row["ci95"])
            means.append({"series": series, "x": x, **row, "low": row["mean"] - half, "high": row["mean"] + half})
            seeds += [{"series": series, "x": x, "metric": row["metric"], "seed": seed, "mean": value}
                      for seed, value in zip(by_seed, per_seed, strict=True)]
    columns = ["series", "x", "metric", "mean", "ci95", "n_seeds", "n_queries", "n_dropped", "low", "high"]
    return Curves(pd.DataFrame(means, columns=columns),
                  pd.DataFrame(seeds, columns=["series", "x", "metric", "seed", "mean"]), done, total, waiting)


def numbers(agreements: Mapping[str, PerQuery], noun: str) -> pd.DataFrame:
    """One row a series: the three agreements at the chosen point, mean over queries ± 95% over queries."""
    rows = []
    for series, per_query in agreements.items():
        row: dict = {noun: series}
        for metric, values in per_query.items():
            found = summarize([values], interval_over="queries")
            row[METRICS[metric].title] = found.mean
            row[f"± {METRICS[metric].short}"] = found.ci95
        rows.append({**row, "queries": found.n_queries, "left out": found.n_dropped})
    return pd.DataFrame(rows)


def titled(agreements: Mapping[str, PerQuery]) -> dict[str, PerQuery]:
    """The agreements by the behaviors' titles, as the chart names its series."""
    return {BEHAVIORS[name].title: found for name, found in agreements.items()}


def by_title(points: Mapping[str, Point]) -> dict[str, Point]:
    """The points by the solvers' titles."""
    return {labels.solver_title(name): point for name, point in points.items()}


def markers(agreements: Mapping[str, PerQuery], metric: str, x: float) -> pd.DataFrame:
    """Where the chosen point stands on the chart, one row a series."""
    return pd.DataFrame([{"series": series, "x": x, "mean": summarize([per_query[metric]], "queries").mean}
                         for series, per_query in agreements.items()], columns=["series", "x", "mean"])


def residuals(points: Mapping[str, Point]) -> pd.DataFrame:
    """How well each solver solved its linear systems: relative residuals over the candidates."""
    rows = []
    for series, point in points.items():
        residual = point.approximate.residual
        rows.append({"solver": series, "median residual": float(np.median(residual)),
                     "largest residual": float(residual.max()), "met its tolerance": int(
                         point.approximate.converged.sum()), "candidates": len(residual)})
    return pd.DataFrame(rows)


def scatter_frame(point: Point, query: int) -> pd.DataFrame:
    """Exact and approximate oriented scores of every converged candidate for one query."""
    kept = point.exact.converged & point.approximate.converged
    exact, approximate = point.exact.oriented[query, kept], point.approximate.oriented[query, kept]
    return pd.DataFrame({"candidate": point.exact.candidates[kept], "exact": exact, "approximate": approximate,
                         "sign": np.where(np.sign(exact) == np.sign(approximate), "same sign", "sign switched")})


def published_curves(frame: pd.DataFrame, curve: str, metric: str, behavior: str | None = None,
                     solver: str = "cholesky") -> pd.DataFrame:
    """series, x, mean, low, high of published results: behaviors over η, or one behavior's solve by `solver` over α."""
    chosen = frame[(frame["curve"] == curve) & (frame["metric"] == METRICS[metric].title)]
    if behavior is not None:
        chosen = chosen[chosen["behavior"] == behavior]
    known = chosen["behavior"].isin(list(BEHAVIORS))
    chosen = chosen[known]
    series = chosen["behavior"].map(lambda name: BEHAVIORS[name].title)
    if behavior is not None:
        series = series.map(lambda _: labels.solver_title(solver))
    half = chosen["ci95"].fillna(0.0)
    return pd.DataFrame({"series": series, "x": chosen["parameter"].str.partition("=")[2].astype(float),
                         "mean": chosen["mean"], "ci95": chosen["ci95"], "low": chosen["mean"] - half,
                         "high": chosen["mean"] + half, "dataset": chosen["dataset"]}).reset_index(drop=True)
