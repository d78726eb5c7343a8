r"""What the random projection does to scores: Kendall τ between two draws of it, per query.

Scores of the gradient estimators are inner products of projected gradients. Their error is that of the draw, and two
independent draws differ by about √2 of it, so that τ between them is, as a rule, below τ with unprojected scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.language.methods import pairs
from engine.applications.language.projection import Projection
from engine.applications.language.rankings import behavior_title
from engine.basics.values import signed
from engine.gradients.cached import CachedCheckpoint, CachedFeatures
from engine.metrics.agreement import pairwise

TARGET = 0.95
"""Kendall τ between two draws from which on a ranking counts as the gradients', not the draw's."""
MOST_QUERIES = 50
COLUMNS = ("estimator", "behavior", "kendall_tau", "n_queries")


def stability(features: CachedFeatures) -> pd.DataFrame:
    """estimator, behavior, Kendall τ between two draws averaged over queries, and over how many; a row for each pair
    that reads gradients, none where they are kept whole. Of more than `MOST_QUERIES` queries the first are read."""
    first = _few(features)
    rows: list[tuple[str, str, float, int]] = []
    second = first.redrawn
    chosen = [pair for pair in pairs(features.behaviors) if not pair[0].undivided]
    if second is None or features.shape[1] < 2:
        return pd.DataFrame(rows, columns=list(COLUMNS))
    scores = [[method.score(one, behavior) for method, behavior in chosen] for one in (first, second)]
    for (method, behavior), *both in zip(chosen, *scores, strict=True):
        tau = pairwise(np.stack(both), ("kendall",))["kendall"][0, 1]
        defined = tau[~np.isnan(tau)]
        rows.append((method.label, behavior_title(behavior), float(defined.mean()) if len(defined) else np.nan,
                     len(defined)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


WHOLE, MET, MISSED = "whole", "target met", "target missed"
"""What came out of the choice of a width."""


def described(table: pd.DataFrame, projection: Projection, tried: Mapping[int, float] | None = None) -> dict[str, Any]:
    """What was chosen and how far scores depend on it, as plain data: projector, dimension, target, the least τ,
    whether all meet the target, the outcome (`WHOLE`, `MET`, `MISSED`), and a sentence.

    tried: width -> least τ of a sample, where the width was chosen by it.
    """
    chosen = {**projection.model_dump(mode="json"), "target": TARGET,
              "tried": [[width, tau] for width, tau in (tried or {}).items()]}
    if projection.whole:
        return {**chosen, "least": None, "met": True, "outcome": WHOLE,
                "sentence": "Gradients are not projected."}
    known = table.dropna(subset="kendall_tau")
    if known.empty:
        return {**chosen, "least": None, "met": False, "outcome": MISSED, "sentence": (
            f"Gradients are projected onto {projection.dimension:,} numbers; the dependence of scores on the "
            "projection's seed is unknown, because no query has two rankings to compare.")}
    worst, best = (known.loc[index] for index in (known["kendall_tau"].idxmin(), known["kendall_tau"].idxmax()))
    least = float(worst["kendall_tau"])
    met = least >= TARGET
    said = (f"Gradients are projected onto {projection.dimension:,} numbers at random{_why(projection, tried or {})}. "
            f"Rankings of two seeds of the projection agree with τ = {_floored(least)} ({_named(worst)}) to "
            f"{_floored(best['kendall_tau'])} ({_named(best)}), per query")
    advice = ("." if met else f": below {TARGET}, part of the ranking is due to the seed; a larger `dimension`, or "
                              "the projector `identity`, reduces it.")
    return {**chosen, "least": least, "met": met, "outcome": MET if met else MISSED, "sentence": said + advice}


def _why(projection: Projection, tried: Mapping[int, float]) -> str:
    """How the width was chosen, as a clause; empty where it was given."""
    if not tried:
        return ""
    reached = tried[projection.dimension] >= TARGET
    return (", the smallest dimension at which two seeds agreed for a sample of the records" if reached else
            ", the largest within the budget: smaller ones did not suffice for a sample of the records")


def _few(features: CachedFeatures) -> CachedFeatures:
    """The features of the first queries alone."""
    def of(point: CachedCheckpoint) -> CachedCheckpoint:
        return replace(point, queries={name: rows[:MOST_QUERIES] for name, rows in point.queries.items()})

    return replace(features, points=tuple(map(of, features.points)), second_draw=tuple(map(of, features.second_draw)))


def _named(row: pd.Series) -> str:
    return f"{row['estimator']}, {row['behavior'].lower()}"


def _floored(tau: float) -> str:
    """To two digits, rounded down: never better than it is."""
    return signed(np.floor(100 * tau) / 100, 2)
