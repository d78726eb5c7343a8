import math

import numpy as np
import pytest
from scipy import stats

from engine.basics.errors import InvalidInput
from engine.metrics.intervals import t_interval


def test_by_hand():
    # mean 2, s = 1, n = 3, t(0.975, 2) = 4.302653 from the printed tables
    mean, half_width = t_interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half_width == pytest.approx(4.302653 / math.sqrt(3), abs=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [2, 3, 5, 40])
def test_matches_scipy(level, n):
    values = np.random.default_rng(n).normal(3.0, 2.0, n)
    mean, half_width = t_interval(values, level)
    low, high = stats.t.interval(level, n - 1, values.mean(), stats.sem(values))
    assert (mean - half_width, mean + half_width) == pytest.approx((low, high), rel=1e-12)


def test_nan_is_left_out():
    assert t_interval([1.0, math.nan, 2.0, 3.0]) == t_interval([1.0, 2.0, 3.0])


def test_one_value_has_no_spread():
    mean, half_width = t_interval([4.5, math.nan])
    assert mean == 4.5 and math.isnan(half_width)


def test_values_that_are_equal_by_rounding_have_its_spread():
    """That of an error that is uniform over a step: a step over √12."""
    mean, half_width = t_interval([0.8, 0.8], grain=1 / 15)
    assert mean == 0.8 and half_width == pytest.approx(12.7062 / 15 / math.sqrt(12) / math.sqrt(2), rel=1e-4)
    assert t_interval([0.2, 0.8], grain=1 / 15) == t_interval([0.2, 0.8])


@pytest.mark.parametrize("values", [[], [math.nan, math.nan]])
def test_no_value_has_no_mean(values):
    assert all(math.isnan(value) for value in t_interval(values))


def test_equal_values_have_zero_width():
    assert t_interval([2.0, 2.0, 2.0]) == (2.0, 0.0)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_level_outside_is_refused(level):
    with pytest.raises(InvalidInput, match="coverage"):
        t_interval([1.0, 2.0], level)
