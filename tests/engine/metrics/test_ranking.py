import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.metrics.ranking import bottom, only_in, ranks, top


@pytest.mark.parametrize("values, expected", [
    ([3.0, 1.0, 2.0], [1, 3, 2]),
    ([-1.0, 0.0], [2, 1]),
    ([5.0, 5.0, 6.0], [2, 3, 1]),
    ([np.nan, 1.0, 2.0], [0, 2, 1]),
    ([np.nan], [0]),
    ([], []),
])
def test_ranks(values, expected):
    assert ranks(np.array(values)).tolist() == expected


def test_top_and_bottom_leave_out_what_has_no_rank():
    ranking = ranks(np.array([0.5, np.nan, -2.0, 3.0]))
    assert top(ranking, 2).tolist() == [3, 0]
    assert bottom(ranking, 2).tolist() == [2, 0]
    assert top(ranking, 9).tolist() == [3, 0, 2]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.integers(1, 10))
def test_top_holds_the_largest_scores(values, n):
    chosen = top(ranks(np.array(values, dtype=float)), n)
    assert sorted((values[place] for place in chosen), reverse=True) == sorted(values, reverse=True)[:n]


def test_ranks_agree_with_the_metric_of_top_overlap():
    from engine.metrics.agreement import top_overlap

    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, (2, 1, 40)).astype(float)
    shared = set(top(ranks(a[0]), 8)) & set(top(ranks(b[0]), 8))
    assert top_overlap(a, b, 0.2)[0] == len(shared) / 8


def test_found_once():
    assert only_in([np.array([1, 2, 3]), np.array([2, 4]), np.array([3, 2])]) == [{1}, {4}, set()]
    assert only_in([np.array([1, 2])]) == [set()]
    assert only_in([]) == []
