import numpy as np
import pytest

from engine.analysis import error_curves
from engine.analysis.between_points import between, missed
from engine.analysis.error_curves import ETAS
from tests.engine.problems_for_tests import problem


def test_straight_over_the_logarithm_by_hand():
    x, y = [0.01, 0.1, 1.0], [1.0, 0.8, 0.2]
    assert between(x, y, [0.01, 0.1, 1.0]).tolist() == y
    np.testing.assert_allclose(between(x, y, [10 ** -1.5, 10 ** -0.25]), [0.9, 0.8 - 0.6 * 0.75])


def test_nothing_is_said_outside_the_points_or_beside_an_unknown_one():
    found = between([0.01, 0.1, 1.0], [1.0, np.nan, 0.2], [0.005, 0.01, 0.02, 0.5, 1.0, 2.0])
    np.testing.assert_array_equal(np.isnan(found), [True, False, True, True, False, True])


def test_a_left_out_point_of_a_parabola_is_missed_by_four_times_as_much_as_the_middle_of_a_gap():
    x = 10.0 ** np.arange(-4.0, 1.0)
    y = np.log10(x) ** 2
    middle = 10.0 ** (np.arange(-4.0, 0.0) + 0.5)
    assert missed(x, y) == pytest.approx(1.0)
    assert np.abs(between(x, y, middle) - np.log10(middle) ** 2).max() == pytest.approx(0.25)


def test_missed_without_inner_points_or_beside_unknown_ones():
    assert np.isnan(missed([0.1, 1.0], [1.0, 0.5])) and np.isnan(missed([0.1, 0.2, 1.0], [1.0, np.nan, 0.5]))
    assert missed([1.0, 10.0, 100.0, 1000.0], [0.0, 3.0, 0.0, np.nan]) == 3.0


def test_what_is_read_between_points_is_close_to_what_is_computed_there():
    trained = problem(n=120, d=6, classes=3, queries=20)
    middle = np.sqrt(np.array(ETAS[1:]) * np.array(ETAS[:-1]))
    points, computed = ([error_curves.step_agreement(trained, float(eta), ["query_loss"])["query_loss"]["kendall_tau"]
                         .mean() for eta in grid] for grid in (ETAS, middle))
    apart = np.abs(between(ETAS, points, middle) - computed).max()
    assert apart <= max(missed(ETAS, points), 0.002) and apart < 0.01 < 1 - min(points)
