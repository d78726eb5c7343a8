"""Two rankings of the same candidates, and the tables of the charts that show how they differ.

Tables are cached on text keys; the arrays themselves are never hashed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

TOP = 20
BINS = 30  # squares a side of the rank–rank density
POINTS = 5_000  # candidates up to which the scatter of one query shows every one of them
CACHED = 24


@dataclass(frozen=True, eq=False)
class RankingPair:
    """Two scorings, for `flow` any number S, of the first seed over the trusted candidates; query None stands for all
    of them.

    scores, ranks: (S, m, k), rank 1 supports the behavior most; a score without a position in one of them is NaN
    in all, and ranks last. candidates, labels: (k,). noun: what a label is called, and
    the column of tables that holds it.
    """

    key: tuple
    scores: np.ndarray
    ranks: np.ndarray
    candidates: np.ndarray
    labels: np.ndarray
    noun: str = "label"


def ranks(scores: np.ndarray) -> np.ndarray:
    """1 for the largest score of each row; equal scores in the order of the candidates."""
    order = np.argsort(-scores, axis=-1, kind="stable")
    ranks = np.empty_like(order, dtype=np.int32)
    np.put_along_axis(ranks, order, np.arange(1, scores.shape[-1] + 1, dtype=np.int32)[None], -1)
    return ranks


MEAN, OFTEN = "mean", "often"
"""What ranks the examples over all queries: their mean score, or at how many queries they are in the top."""


def _one(pair: RankingPair, query: int | None, by: str) -> tuple[np.ndarray, np.ndarray]:
    """(scores, ranks), each (S, k): of one query, of the mean over queries, or of the fraction of queries at which an
    example is in the top, of equal ones the better mean rank first."""
    if query is not None:
        return pair.scores[:, query], pair.ranks[:, query]
    if by == OFTEN:
        fraction = (pair.ranks <= TOP).mean(1)
        behind = pair.ranks.mean(1) / (pair.ranks.shape[-1] + 1)
        return fraction, ranks(fraction * pair.ranks.shape[1] - behind)
    mean = np.nan_to_num(pair.scores).mean(1)
    return mean, ranks(mean)


def shared(pair: RankingPair, top: int) -> float:
    """How many of the top examples are in both rankings, query by query: the mean over queries."""
    return float((pair.ranks <= top).all(0).sum(-1).mean())


def ranking(pair: RankingPair, query: int | None, by: str = MEAN) -> pd.DataFrame:
    """One row a candidate: its score and rank under both, sorted by the first rank. by: of what, over all queries."""
    scores, ranks = _one(pair, query, by)
    frame = pd.DataFrame({"example": pair.candidates, pair.noun: pair.labels, "rank_a": ranks[0], "rank_b": ranks[1],
                          "score_a": scores[0], "score_b": scores[1]})
    return frame.dropna(subset=["score_a", "score_b"]).sort_values("rank_a", ignore_index=True)


def each_query(pair: RankingPair) -> pd.DataFrame:
    """As `ranking`, for every query by itself: one row per query and a candidate."""
    return pd.concat([ranking(pair, query).assign(query=query) for query in range(pair.ranks.shape[1])],
                     ignore_index=True)


def density(pair: RankingPair, query: int | None = None) -> pd.DataFrame:
    """How the two ranks fall together, for one query or over all: one row a square of the rank–rank plane.

    `times` is the fraction of (query, candidate) pairs in the square over what rankings in random order give.
    """
    return _density((*pair.key, query), pair.ranks if query is None else pair.ranks[:, query:query + 1])


@st.cache_data(show_spinner=False, max_entries=CACHED)
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


def top_changes(pair: RankingPair, query: int | None, top: int = TOP, by: str = MEAN) -> pd.DataFrame:
    """The candidates in the top of either ranking, with a position to draw them at on each side.

    Inside the top, the position is the rank; those outside stand below it in the order of their ranks.
    """
    frame = ranking(pair, query, by)
    frame = frame[(frame.rank_a <= top) | (frame.rank_b <= top)].copy()
    inside_a, inside_b = frame.rank_a <= top, frame.rank_b <= top
    frame["membership"] = np.select([inside_a & inside_b, inside_a], ["in both", "only in the first"],
                                    "only in the second")
    for side in "ab":
        outside = frame[f"rank_{side}"] > top
        below = frame.loc[outside, f"rank_{side}"].rank() + top + 0.6
        frame[f"position_{side}"] = frame[f"rank_{side}"].where(~outside, below).astype(float)
    return frame


def flow(pair: RankingPair, query: int | None, top: int, by: str = MEAN) -> pd.DataFrame:
    """One row a ranking and candidate that is in the top of at least one: example, its label, ranking (its number from
    0), rank, and in how many tops it is."""
    scores, ranks = _one(pair, query, by)
    inside = (ranks <= top) & np.isfinite(scores)
    columns = np.flatnonzero(inside.any(0))
    count = len(ranks)
    return pd.DataFrame({"example": np.tile(pair.candidates[columns], count),
                         pair.noun: np.tile(pair.labels[columns], count),
                         "ranking": np.repeat(np.arange(count), len(columns)), "rank": ranks[:, columns].ravel(),
                         "tops": np.tile(inside[:, columns].sum(0), count)})
