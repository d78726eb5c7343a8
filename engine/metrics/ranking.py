"""Rankings of candidates for one query: ranks, the top and bottom, and what only one ranking finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """Rank of each score, 1 for the largest: (k,) -> (k,) int64; 0 for NaN, which has no rank.

    Among equal scores the candidate that comes first in the array ranks first, as in the top overlap.
    """
    values = np.asarray(values, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    by_candidate = np.empty(len(values), dtype=np.int64)
    by_candidate[order] = np.arange(1, len(values) + 1)
    return np.where(np.isnan(values), 0, by_candidate)


def top(ranking: np.ndarray, n: int) -> np.ndarray:
    """Positions of the n best-ranked, best first."""
    order = np.argsort(ranking, kind="stable")
    return order[ranking[order] > 0][:n]


def bottom(ranking: np.ndarray, n: int) -> np.ndarray:
    """Positions of the n worst-ranked, worst first."""
    order = np.argsort(-ranking, kind="stable")
    return order[ranking[order] > 0][:n]


def only_in(lists: Sequence[np.ndarray]) -> list[set[int]]:
    """For each list, the positions that no other list holds; with a single list nothing is compared, so none."""
    if len(lists) < 2:
        return [set() for _ in lists]
    sets = [{int(position) for position in listed} for listed in lists]
    return [own - set().union(*(other for at, other in enumerate(sets) if at != position))
            for position, own in enumerate(sets)]
