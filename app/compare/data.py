"""The numbers behind the Compare page: a cached comparison, and the table of every chart.

Tables are cached on text keys (sources, codes, candidates); the arrays themselves are never hashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from app.widgets import pickers
from app.widgets.desk import desk
from engine.analysis.comparison import Comparison
from engine.desk import Waiting
from engine.desk import compared as desk_compared
from engine.desk.compared import Compared
from engine.metrics.agreement import METRICS, top_size
from engine.scoring.scoring import Scoring

TOP = 20
BINS = 30  # squares a side of the rank–rank density
WIDTH = 0.05  # of a histogram bar
KEPT = 24


def compared(scorings: Sequence[Scoring]) -> Compared | Waiting:
    """Score and compare on the chosen data and seeds, or say what is being waited for."""
    sources = [pickers.source(seed) for seed in range(pickers.seed_count())]
    return desk_compared.compared(desk(), sources, scorings, pickers.optima_candidates())


def matrix(found: Compared, metric: str, labels: Sequence[str], pair: tuple[int, int]) -> pd.DataFrame:
    """One row a cell of the heatmap, the diagonal included."""
    rows = _cells(found.key, metric, tuple(labels), found.comparison)
    chosen = set(pair)
    return rows.assign(chosen=[row != column and {row, column} == chosen
                               for row, column in zip(rows.row, rows.column, strict=True)])


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _cells(key: tuple, metric: str, labels: tuple[str, ...], _comparison: Comparison) -> pd.DataFrame:
    rows = []
    for row, first in enumerate(labels):
        for column, second in enumerate(labels):
            agreement = _comparison.agreement(metric, row, column)
            rows.append({"row": row, "column": column, "first": first, "second": second, "mean": agreement.mean,
                         "value": "–" if np.isnan(agreement.mean) else signed(agreement.mean, 2),
                         "agreement": plus_minus(agreement.mean, agreement.ci95),
                         "verdict": _comparison.verdicts[row][column].headline})
    return pd.DataFrame(rows)


def table(found: Compared, labels: Sequence[str]) -> pd.DataFrame:
    """Every pair and every metric, with intervals, as in the command line's agreement.csv."""
    return _table(found.key, tuple(labels), found.comparison)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _table(key: tuple, labels: tuple[str, ...], _comparison: Comparison) -> pd.DataFrame:
    whole = _comparison.table()
    names = dict(zip(_comparison.names, labels, strict=True))
    return whole.assign(a=whole.a.map(names), b=whole.b.map(names))


def further(found: Compared, a: int, b: int) -> Comparison:
    """A pair in the measures beyond the three, over all seeds."""
    return desk_compared.further(desk(), found, a, b)


def plus_minus(mean: float, half_width: float) -> str:
    """`0.747 ± 0.012`; without an interval where there is none."""
    if np.isnan(mean):
        return "undefined"
    return signed(mean) if np.isnan(half_width) else f"{signed(mean)} ± {half_width:.3f}"


def signed(value: float, digits: int = 3) -> str:
    """A number with a true minus sign, and no minus before zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def chance(metric: str, candidates: int) -> float:
    """What unrelated scores would reach."""
    return METRICS[metric].chance(candidates, 0.05)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two scorings of the first seed over the trusted candidates; query None stands for all of them.

    scores, ranks: (2, m, k), rank 1 supports the behavior most; a score below resolution in one of the two is NaN in
    both, and ranks last. candidates, labels: (k,).
    """

    key: tuple
    scores: np.ndarray
    ranks: np.ndarray
    candidates: np.ndarray
    labels: np.ndarray


def pair(found: Compared, a: int, b: int) -> Pair:
    """The rankings of scoring a and scoring b."""
    return desk().memory.kept(("pair", *found.key, a, b), lambda: _pair(found, a, b))


def _pair(found: Compared, a: int, b: int) -> Pair:
    kept = found.trusted
    known = np.logical_and.reduce([found.scores[0][place].known[:, kept] for place in (a, b)])
    scores = np.stack([np.where(known, found.scores[0][place].oriented[:, kept], np.nan) for place in (a, b)])
    candidates = found.scores[0][a].candidates[kept]
    dataset, sample = desk().sample(found.sources[0])
    names, labels = dataset.class_names, sample.y_train[candidates]
    return Pair((*found.key, a, b), scores, ranks(scores), candidates, np.array([names[label] for label in labels]))


def ranks(scores: np.ndarray) -> np.ndarray:
    """1 for the largest score of each row; equal scores in the order of the candidates."""
    order = np.argsort(-scores, axis=-1, kind="stable")
    ranks = np.empty_like(order, dtype=np.int32)
    np.put_along_axis(ranks, order, np.arange(1, scores.shape[-1] + 1, dtype=np.int32)[None], -1)
    return ranks


def _one(pair: Pair, query: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(scores, ranks), each (2, k): of one query, or of the mean over queries."""
    if query is not None:
        return pair.scores[:, query], pair.ranks[:, query]
    mean = np.nan_to_num(pair.scores).mean(1)
    return mean, ranks(mean[:, None])[:, 0]


def ranking(pair: Pair, query: int | None) -> pd.DataFrame:
    """One row a candidate: its score and rank under both, sorted by the first rank."""
    scores, ranks = _one(pair, query)
    frame = pd.DataFrame({"example": pair.candidates, "label": pair.labels, "rank_a": ranks[0], "rank_b": ranks[1],
                          "score_a": scores[0], "score_b": scores[1]})
    return frame.dropna(subset=["score_a", "score_b"]).sort_values("rank_a", ignore_index=True)


def density(pair: Pair, query: int | None = None) -> pd.DataFrame:
    """How the two ranks fall together, for one query or over all: one row a square of the rank–rank plane.

    `times` is the share of (query, candidate) pairs in the square over what unrelated rankings would give.
    """
    return _density((*pair.key, query), pair.ranks if query is None else pair.ranks[:, query:query + 1])


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _density(key: tuple, _ranks: np.ndarray) -> pd.DataFrame:
    queries, k = _ranks.shape[1:]
    bins = min(BINS, k)
    first, second = ((_ranks[side].astype(np.int64).ravel() - 1) * bins // k for side in (0, 1))
    counts = np.bincount(first * bins + second, minlength=bins * bins).reshape(bins, bins)
    edges = -(-np.arange(bins + 1) * k // bins)  # the ranks after which a square begins
    sizes = np.diff(edges)
    times = counts / (queries * np.outer(sizes, sizes) / k)
    across, up = np.divmod(np.arange(bins * bins), bins)
    return pd.DataFrame({"from_a": edges[across], "to_a": edges[across + 1], "from_b": edges[up],
                         "to_b": edges[up + 1], "times": times.ravel().round(3)})


def top_changes(pair: Pair, query: int | None, top: int = TOP) -> pd.DataFrame:
    """The candidates in the top of either ranking, with a place to draw them at on each side.

    Inside the top, the place is the rank; those outside stand below it in the order of their ranks.
    """
    frame = ranking(pair, query)
    frame = frame[(frame.rank_a <= top) | (frame.rank_b <= top)].copy()
    inside_a, inside_b = frame.rank_a <= top, frame.rank_b <= top
    frame["kept"] = np.where(inside_a & inside_b, "in both", np.where(inside_a, "only in the first",
                                                                       "only in the second"))
    for side in "ab":
        outside = frame[f"rank_{side}"] > top
        below = frame.loc[outside, f"rank_{side}"].rank() + top + 0.6
        frame[f"place_{side}"] = frame[f"rank_{side}"].where(~outside, below).astype(float)
    return frame


def per_query(found: Compared, metric: str, a: int, b: int) -> pd.DataFrame:
    """The agreement of every query, of every seed; undefined rows stay NaN."""
    values = found.comparison.per_query[metric][:, a, b]
    seeds, queries = values.shape
    return pd.DataFrame({"seed": np.repeat([source.seed for source in found.sources], queries),
                         "query": np.tile(np.arange(queries), seeds), "agreement": values.ravel()})


def histogram(values: pd.Series, metric: str, candidates: int) -> pd.DataFrame:
    """Counts of the values over the metric's range; an overlap of few candidates has one bar for each value."""
    low, high = METRICS[metric].range
    bins = round((high - low) / WIDTH)
    size = top_size(candidates, 0.05)
    if metric == "top_overlap" and size < bins:
        low, high, bins = -0.5 / size, 1 + 0.5 / size, size + 1
    counts, edges = np.histogram(values.dropna(), bins=bins, range=(low, high))
    return pd.DataFrame({"from": edges[:-1].round(4), "to": edges[1:].round(4), "queries": counts})
