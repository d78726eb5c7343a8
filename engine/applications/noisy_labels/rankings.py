"""What rankings of suspicious labels tell: how well they detect, how they agree, and whom they flag.

A ranking is the suspicion (n,) of every training example under a `Pair`, larger for a label more likely wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.pairs import NONE, Pair
from engine.metrics.agreement import pairwise, top_size
from engine.metrics.detection import detection, precision_recall
from engine.metrics.ranking import ranks

MOST_COMPARED = 3_000
"""Rankings of more examples are compared on so many of them, drawn once."""


def detections(suspicion: Mapping[Pair, np.ndarray], noisy: np.ndarray) -> pd.DataFrame:
    """One row a pair: method, behavior and every detection metric."""
    return pd.DataFrame([{"method": pair.method, "behavior": pair.behavior, **detection(noisy, values)}
                         for pair, values in suspicion.items()])


def preferred(table: pd.DataFrame, metric: str) -> set[Pair]:
    """The best behavior of each method that has several."""
    several = table[table["behavior"] != NONE]
    best = several.loc[several.groupby("method", sort=False)[metric].idxmax().dropna()] if len(several) else several
    return {Pair(row.method, row.behavior) for row in best.itertuples()}


def curves(suspicion: Mapping[Pair, np.ndarray], noisy: np.ndarray, pairs: Sequence[Pair]) -> pd.DataFrame:
    """series, recall, precision along the ranking of each pair."""
    frames = []
    for pair in pairs:
        precision, recall = precision_recall(noisy, suspicion[pair], points=150)
        frames.append(pd.DataFrame({"series": pair.title, "recall": recall, "precision": precision}))
    return pd.concat(frames, ignore_index=True)


def agreement(suspicion: Mapping[Pair, np.ndarray]) -> np.ndarray:
    """Kendall τ between all rankings, (pairs, pairs)."""
    return pairwise(_compared(list(suspicion.values())), ("kendall",))["kendall"][..., 0]


def agreements(suspicion: Mapping[Pair, np.ndarray], first: Pair, second: Pair,
               metrics: Sequence[str]) -> dict[str, float]:
    """metric -> agreement of two rankings, over the same examples as `agreement`; the top share is 5%."""
    values_by_metric = pairwise(_compared([suspicion[first], suspicion[second]]), metrics)
    return {metric: float(values[0, 1, 0]) for metric, values in values_by_metric.items()}


def _compared(rankings: Sequence[np.ndarray]) -> np.ndarray:
    """(pairs, 1, examples), of at most `MOST_COMPARED` examples."""
    stack = np.stack(rankings)
    if stack.shape[1] > MOST_COMPARED:
        stack = stack[:, np.random.default_rng(0).choice(stack.shape[1], MOST_COMPARED, replace=False)]
    return stack[:, None]


def flagged(suspicion: Mapping[Pair, np.ndarray], pair: Pair, top: float, but_not: Pair | None = None) -> np.ndarray:
    """Rows in rank order: the most suspicious share under a pair, without that of another."""
    size = max(1, top_size(len(suspicion[pair]), top))
    rows = np.argsort(-suspicion[pair], kind="stable")[:size]
    if but_not is None:
        return rows
    others = np.argsort(-suspicion[but_not], kind="stable")[:size]
    return rows[~np.isin(rows, others)]


def all_ranks(suspicion: Mapping[Pair, np.ndarray]) -> dict[Pair, np.ndarray]:
    """Rank of every example under every pair, 1 for the most suspicious."""
    return {pair: ranks(values) for pair, values in suspicion.items()}


def guess(given: int, predicted: int, nearest: Sequence[int]) -> int | None:
    """What the right label may be: the model's prediction, else a label of the nearest trusted examples."""
    if predicted != given:
        return predicted
    return next((label for label in nearest if label != given), None)
