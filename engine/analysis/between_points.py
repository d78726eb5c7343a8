r"""Reading a curve between its computed points, and how much that can be trusted.

Between two neighbours x₀ < x₁ the curve is taken as straight over log x:

    y(x) = y₀ + (y₁ − y₀) (log x − log x₀) / (log x₁ − log x₀).

What this misses at a point is seen by leaving that point out and reading it between its neighbours. The gap left is
then twice as wide as the one a reader looks into, so for a smooth curve, whose miss grows with the square of the gap,
this says too much rather than too little; of the ends nothing is known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def between(x: ArrayLike, y: ArrayLike, at: ArrayLike) -> np.ndarray:
    """Values (s,) at the places `at` (s,), within the computed points x (p,) in rising order with values y (p,).

    NaN outside of the points, and between two of which one is NaN.
    """
    x, y, at = (np.asarray(array, dtype=float) for array in (x, y, at))
    values = np.interp(np.log(at), np.log(x), y, left=np.nan, right=np.nan)
    exact = np.searchsorted(x, at).clip(max=len(x) - 1)
    return np.where(x[exact] == at, y[exact], values)


def missed(x: ArrayLike, y: ArrayLike) -> float:
    """The largest |y_i − y(x_i)| over the inner points, each read between its two neighbours; NaN without any."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    apart = [abs(float(between(x[[index - 1, index + 1]], y[[index - 1, index + 1]], [x[index]])[0]) - y[index])
             for index in range(1, len(x) - 1)]
    known = [gap for gap in apart if gap == gap]
    return max(known, default=float("nan"))
