"""What the approximation-error page asks of the desk, and the table of every chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from app.widgets.jobs.desk import desk
from engine import data as datasets
from engine.analysis import between_points
from engine.analysis.error_curves import PerQuery
from engine.desk import Waiting, error_curves
from engine.desk.error_curves import Curves, Point
from engine.estimators import ESTIMATORS
from engine.metrics.agreement import METRICS, summarize
from engine.problems import ProblemSource
from engine.question.behaviors import BEHAVIORS
from engine.scoring.identities import ProblemFacts
from engine.scoring.verdict import Verdict
from engine.scoring.verdict import verdict as judged

RANKED = ("kendall_tau", "top_overlap")
"""The agreements by which an approximation is judged beside its residual."""


def step_numbers(source: ProblemSource, eta: float, candidates: int | None = None, behavior: str | None = None
                 ) -> Mapping[str, PerQuery] | Waiting:
    """behavior -> metric -> (m,) at one η of one draw, of those that share `behavior`'s run."""
    return error_curves.step_numbers(desk(), source, eta, candidates, behavior)


def eta_curves(sources: Sequence[ProblemSource], candidates: int | None, behavior: str | None = None,
               seconds: float = error_curves.STEP_SECONDS) -> Curves:
    """First order against exact over the η grid: what is known, and what can be computed in `seconds`."""
    return error_curves.eta_curves(desk(), sources, seconds, candidates, behavior)


def alpha_curves(sources: Sequence[ProblemSource], candidates: int, behavior: str) -> Curves:
    """Every solver against the optimum over the α grid, from the draws whose job is done."""
    return error_curves.alpha_curves(desk(), sources, candidates, behavior)


def eta_point(source: ProblemSource, behavior: str, eta: float, candidates: int | None) -> Point | Waiting:
    """Exact and first-order scores at one η."""
    return error_curves.eta_point(desk(), source, behavior, eta, candidates)


def alpha_point(source: ProblemSource, behavior: str, alpha: float, solver: str, candidates: int) -> Point | Waiting:
    """Exact scores of upweighting by α, and those of one solver."""
    return error_curves.alpha_point(desk(), source, behavior, alpha, solver, candidates)


def alpha_points(source: ProblemSource, behavior: str, alpha: float, candidates: int,
                 chosen: str) -> dict[str, Point]:
    """The same under every solver whose scores are at hand."""
    return error_curves.alpha_points(desk(), source, behavior, alpha, candidates, chosen)


def numbers(agreements: Mapping[str, PerQuery], noun: str) -> pd.DataFrame:
    """One row a series: the three agreements at the chosen point, mean over queries ± 95% over queries."""
    rows = []
    for series, per_query in agreements.items():
        row: dict = {noun: series}
        for metric, values in per_query.items():
            found = summarize([values], interval_over="queries")
            row[METRICS[metric].title] = found.mean
            row[f"± 95% of {METRICS[metric].title}"] = found.ci95
        rows.append({**row, "queries": found.n_queries, "left out": found.n_dropped})
    return pd.DataFrame(rows)


def titled(agreements: Mapping[str, PerQuery]) -> dict[str, PerQuery]:
    """The agreements by the behaviors' titles, as the chart names its series."""
    return {BEHAVIORS[name].title: found for name, found in agreements.items()}


def by_title(points: Mapping[str, Point]) -> dict[str, Point]:
    """The points by the solvers' titles."""
    return {ESTIMATORS[name].short_title: point for name, point in points.items()}


def markers(agreements: Mapping[str, PerQuery], metric: str, x: float) -> pd.DataFrame:
    """Where the chosen point stands on the chart, one row a series."""
    return pd.DataFrame([{"series": series, "x": x, "mean": summarize([per_query[metric]], "queries").mean}
                         for series, per_query in agreements.items()], columns=["series", "x", "mean"])


def places(means: pd.DataFrame, stops: Sequence[float]) -> pd.DataFrame:
    """series, place, x, mean: what the curves say at every stop of a slider, computed or read between the points."""
    parts = []
    for series, rows in means.sort_values("x").groupby("series", sort=False):
        read = between_points.between(rows["x"], rows["mean"], stops)
        parts.append(pd.DataFrame({"series": series, "place": range(len(stops)), "x": stops, "mean": read}))
    return pd.concat(parts, ignore_index=True)


def missed(means: pd.DataFrame) -> float:
    """The most by which any curve is missed at a computed point that is left out; NaN where none is known."""
    found = [between_points.missed(rows["x"], rows["mean"]) for _, rows in means.sort_values("x").groupby("series")]
    return max((gap for gap in found if gap == gap), default=float("nan"))


def verdict(source: ProblemSource, point: Point) -> Verdict:
    """Why the two answers at a point may differ, by what is known of the source's problem."""
    facts = ProblemFacts.of(source.problem_class, point.exact.provenance["sizes"]["classes"])
    return judged(point.exact.scoring, point.approximate.scoring, facts)


def residuals(points: Mapping[str, Point]) -> pd.DataFrame:
    """How well each solver solved its linear systems, by relative residuals over the candidates, and how well its
    answers rank against the exact ones of the same point."""
    rows = []
    for series, point in points.items():
        residual, found = point.approximate.residual, point.approximate.convergence
        reached = f"{found.reached:,}" if "tolerance" in found.facts else "it has none"
        ranked = numbers({series: {name: point.agreement[name] for name in RANKED}}, "solver").iloc[0].to_dict()
        rows.append({"solver": series, "median residual": float(np.nanmedian(residual)) if found.known else np.nan,
                     "largest residual": found.largest if found.known else np.nan, "met its tolerance": reached,
                     "residuals measured": found.known, "candidates": found.of,
                     **{name: value for name, value in ranked.items() if name not in ("solver", "left out")}})
    return pd.DataFrame(rows)


def scatter_frame(point: Point, query: int) -> pd.DataFrame:
    """Exact and approximate oriented scores for one query, of every candidate that has both."""
    kept = point.exact.known[query] & point.approximate.known[query]
    exact, approximate = point.exact.oriented[query, kept], point.approximate.oriented[query, kept]
    return pd.DataFrame({"candidate": point.exact.candidates[kept], "exact": exact, "approximate": approximate,
                         "sign": np.where(np.sign(exact) == np.sign(approximate), "same sign", "sign switched")})


def published_curves(frame: pd.DataFrame, curve: str, metric: str, behavior: str | None = None,
                     solver: str = "cholesky") -> pd.DataFrame:
    """series, x, mean, low, high, run of published results: behaviors over η, or one behavior's `solver` over α."""
    chosen = frame[(frame["curve"] == curve) & (frame["metric"] == METRICS[metric].title)]
    if behavior is not None:
        chosen = chosen[chosen["behavior"] == behavior]
    known = chosen["behavior"].isin(list(BEHAVIORS))
    chosen = chosen[known]
    series = chosen["behavior"].map(lambda name: BEHAVIORS[name].title)
    if behavior is not None:
        series = series.map(lambda _: ESTIMATORS[solver].short_title)
    half = chosen["ci95"].fillna(0.0)
    return pd.DataFrame({"series": series, "x": chosen["parameter"].str.partition("=")[2].astype(float),
                         "mean": chosen["mean"], "ci95": chosen["ci95"], "low": chosen["mean"] - half,
                         "high": chosen["mean"] + half,
                         "run": [f"published run on {datasets.title(name)}" for name in chosen["dataset"]],
                         }).reset_index(drop=True)
