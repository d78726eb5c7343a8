"""The tables behind the charts of the approximation-error page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from engine.desk import ProblemSource, datasets
from engine.desk.analyses import PerQuery, between_points
from engine.desk.error_curves import CurvePoint
from engine.metrics.agreement import METRICS, summarize
from engine.question.behaviors import BEHAVIORS
from engine.scoring.identities import ProblemFacts
from engine.scoring.scoring import ESTIMATORS
from engine.scoring.verdict import Verdict
from engine.scoring.verdict import verdict as judged

RANKED = ("kendall_tau", "top_overlap")
"""The agreements by which an approximation is judged beside its residual."""


def numbers(agreements: Mapping[str, PerQuery], noun: str) -> pd.DataFrame:
    """One row a series: the three agreements at the chosen point, mean over queries ± 95% over queries."""
    rows = []
    for series, per_query in agreements.items():
        row: dict = {noun: series}
        for metric, values in per_query.items():
            summary = summarize([values], interval_over="queries")
            row[METRICS[metric].title] = summary.mean
            row[f"± 95% of {METRICS[metric].title}"] = summary.ci95
        rows.append({**row, "queries": summary.n_queries, "left out": summary.n_dropped})
    return pd.DataFrame(rows)


def titled(agreements: Mapping[str, PerQuery]) -> dict[str, PerQuery]:
    """The agreements by the behaviors' titles, as the chart names its series."""
    return {BEHAVIORS[name].title: agreement for name, agreement in agreements.items()}


def by_title(points: Mapping[str, CurvePoint]) -> dict[str, CurvePoint]:
    """The points by the solvers' titles."""
    return {ESTIMATORS[name].short_title: point for name, point in points.items()}


def markers(agreements: Mapping[str, PerQuery], metric: str, x: float) -> pd.DataFrame:
    """Where the chosen point stands on the chart, one row a series."""
    return pd.DataFrame([{"series": series, "x": x, "mean": summarize([per_query[metric]], "queries").mean}
                         for series, per_query in agreements.items()], columns=["series", "x", "mean"])


def at_stops(means: pd.DataFrame, stops: Sequence[float]) -> pd.DataFrame:
    """series, place, x, mean: what the curves say at every stop of a slider, computed or read between the points."""
    frames = []
    for series, rows in means.sort_values("x").groupby("series", sort=False):
        read = between_points.between(rows["x"], rows["mean"], stops)
        frames.append(pd.DataFrame({"series": series, "place": range(len(stops)), "x": stops, "mean": read}))
    return pd.concat(frames, ignore_index=True)


def missed(means: pd.DataFrame) -> float:
    """The most by which any curve is missed at a computed point that is left out; NaN where none is known."""
    gaps = [between_points.missed(rows["x"], rows["mean"]) for _, rows in means.sort_values("x").groupby("series")]
    return max((gap for gap in gaps if gap == gap), default=float("nan"))


def verdict(source: ProblemSource, point: CurvePoint) -> Verdict:
    """Why the two answers at a point may differ, by what is known of the source's problem."""
    facts = ProblemFacts.of(source.problem_class, point.exact.provenance["sizes"]["classes"])
    return judged(point.exact.scoring, point.approximate.scoring, facts)


def residuals(points: Mapping[str, CurvePoint]) -> pd.DataFrame:
    """How well each solver solved its linear systems, by relative residuals over the candidates, and how well its
    answers rank against the exact ones of the same point."""
    rows = []
    for series, point in points.items():
        residual, convergence = point.approximate.residual, point.approximate.convergence
        reached = f"{convergence.reached:,}" if "tolerance" in convergence.facts else "it has none"
        ranked = numbers({series: {name: point.agreement[name] for name in RANKED}}, "solver").iloc[0].to_dict()
        rows.append({"solver": series,
                     "median residual": float(np.nanmedian(residual)) if convergence.known else np.nan,
                     "largest residual": convergence.largest if convergence.known else np.nan,
                     "met its tolerance": reached,
                     "residuals measured": convergence.known, "candidates": convergence.of,
                     **{name: value for name, value in ranked.items() if name not in ("solver", "left out")}})
    return pd.DataFrame(rows)


def scatter_frame(point: CurvePoint, query: int) -> pd.DataFrame:
    """Exact and approximate oriented scores for one query, of every candidate that has both."""
    known = point.exact.known[query] & point.approximate.known[query]
    exact, approximate = point.exact.oriented[query, known], point.approximate.oriented[query, known]
    return pd.DataFrame({"candidate": point.exact.candidates[known], "exact": exact, "approximate": approximate,
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
