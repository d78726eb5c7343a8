"""Confidence intervals for a mean of a few repeated measurements."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from engine.basics.errors import InvalidInput


def t_interval(values: ArrayLike, level: float = 0.95, grain: float = 0.0) -> tuple[float, float]:
    """Mean and half width of the two-sided Student t interval of `values`.

    half_width = t_{n−1, (1+level)/2} · s / √n, with s the standard deviation that divides by n − 1, or grain/√12, that
    of rounding to multiples of `grain`, where this is larger: few values that are equal by rounding have a spread.

    values: any shape, flattened; NaN entries are left out and n counts the rest.
    level: coverage, strictly between 0 and 1. grain: the step between the values that are possible; 0 for any.
    Returns (mean, half_width) in the units of `values`. With n = 1 the half width is NaN; with n = 0 both are.
    Raises InvalidInput for a level outside (0, 1).
    Source: Student, "The probable error of a mean", Biometrika 6 (1908).
    """
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"The coverage {level} is not strictly between 0 and 1; give for example 0.95.")
    sample = np.asarray(values, dtype=np.float64).ravel()
    sample = sample[~np.isnan(sample)]
    n = sample.size
    if n == 0:
        return math.nan, math.nan
    mean = float(sample.mean())
    if n == 1:
        return mean, math.nan
    return mean, t_quantile(n, level) * max(float(sample.std(ddof=1)), grain / math.sqrt(12)) / math.sqrt(n)


def known_mean(values: ArrayLike) -> float:
    """The mean of the values that are not NaN; NaN where all are."""
    known = np.asarray(values, dtype=np.float64)
    return float(np.nanmean(known)) if not np.isnan(known).all() else math.nan


def welch_half_width(a: tuple[float, int], b: tuple[float, int], level: float = 0.95) -> float:
    """Half width of the t interval of a difference of two means whose samples need not have one variance.

    t_{ν, (1+level)/2} · √(s_a²/n_a + s_b²/n_b), ν by Welch and Satterthwaite. a, b: (s, n), the standard deviation that
    divides by n − 1, and the count. NaN where a count is below 2 or a deviation unknown; 0 where neither varies.
    Source: Welch, "The generalization of Student's problem …", Biometrika 34 (1947).
    """
    if min(a[1], b[1]) < 2 or math.isnan(a[0] + b[0]):
        return math.nan
    terms = [spread**2 / n for spread, n in (a, b)]
    if not sum(terms):
        return 0.0
    freedom = sum(terms) ** 2 / sum(term**2 / (n - 1) for term, (_, n) in zip(terms, (a, b), strict=True))
    return float(stdtrit(freedom, (1.0 + level) / 2.0)) * math.sqrt(sum(terms))


def t_quantile(n: int, level: float = 0.95) -> float:
    """t_{n−1, (1+level)/2}: how many standard errors of n values make half a two-sided interval; NaN for n < 2."""
    return float(stdtrit(n - 1, (1.0 + level) / 2.0)) if n > 1 else math.nan
