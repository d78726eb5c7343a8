r"""Which scores take part where each has an error bound: the one rule that every ranking, sign and chart reads.

A score takes part unless its error bound e exceeds its distance from what it is compared with:

    signs   compared with 0: left out where e ≥ |s|, so that a score of exactly 0 with no error keeps its sign
    ranks   compared with the other candidates of its query: left out where e exceeds the distance to at least half of
            them, #{j ≠ k : |s_j − s_k| < e_k} ≥ (k − 1)/2, so that it has no position among them

A bound of NaN says nothing, so that the score takes part. A score that is NaN or infinite takes part in nothing and is
no other candidate's company.
"""

from __future__ import annotations

import numpy as np


def has_sign(values: np.ndarray, error: np.ndarray | None = None) -> np.ndarray:
    """Which scores (m, k) have a sign, given bounds (m, k) ≥ 0 on their errors (None: none is stated): (m, k) bool."""
    usable = np.isfinite(values)
    if error is None:
        return usable
    with np.errstate(invalid="ignore"):
        return usable & ~((error > 0) & (error >= np.abs(values)))


def has_position(values: np.ndarray, error: np.ndarray | None = None) -> np.ndarray:
    """Which scores (m, k) have a position among those of their query, given bounds (m, k) ≥ 0: (m, k) bool.

    One sort a query and two searches a score, O(k log k).
    """
    usable = np.isfinite(values)
    if error is None or not (error > 0).any():
        return usable
    ranked = usable.copy()
    for query in np.flatnonzero((usable & (error > 0)).any(1)):
        finite = usable[query]
        ranked[query, finite] = _placed(values[query, finite], error[query, finite])
    return ranked


def _placed(values: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Of the finite scores (k,) of one query."""
    order, off = np.sort(values), np.where(error > 0, error, 0.0)
    # an error below the last digit of a score reaches as far as the scores that equal it
    low = np.minimum(values - off, np.nextafter(values, -np.inf))
    high = np.maximum(values + off, np.nextafter(values, np.inf))
    near = np.searchsorted(order, high, "left") - np.searchsorted(order, low, "right") - 1
    return (off == 0) | (len(values) < 2) | (2 * near < len(values) - 1)
