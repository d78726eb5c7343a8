"""One number a candidate from the scores of several queries, by hand."""

import numpy as np
import pytest

from engine.basics.errors import InvalidInput
from engine.scoring.aggregate import Difference, Mean, Weighted
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

VALUES = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, -2.0, 0.0, 8.0], [3.0, 6.0, -3.0, 0.0]])


def scores(intervention="add_occurrence", process=None, **facts):
    scoring = Scoring.of("query_loss", {"kind": intervention}, process or {"kind": "one_step", "eta": 0.1})
    known = {"converged": np.ones(4, bool), "residual": np.zeros(4), **facts}
    return Scores(scoring, VALUES, np.arange(4), **known)


def test_the_mean_over_queries():
    np.testing.assert_array_equal(Mean().of(scores()), [3.0, 2.0, 0.0, 4.0])


def test_scores_are_oriented_first():
    np.testing.assert_array_equal(Mean().of(scores("remove", {"kind": "reoptimize"})), [-3.0, -2.0, 0.0, -4.0])


def test_a_weight_a_query():
    np.testing.assert_array_equal(Weighted(np.array([1.0, 3.0, 0.0])).of(scores()), [4.0, -1.0, 0.75, 7.0])
    np.testing.assert_array_equal(Weighted(np.ones(3)).of(scores()), Mean().of(scores()))


def test_a_weight_a_query_and_candidate():
    weights = np.array([[1, 0, 0, 0], [1, 1, 0, 1], [0, 1, 0, 1]])
    np.testing.assert_array_equal(Weighted(weights).of(scores()), [3.0, 2.0, np.nan, 4.0])


def test_one_aggregate_minus_another_adds_their_errors():
    over = Difference(Weighted(np.array([1.0, 1.0, 0.0])), Weighted(np.array([0.0, 0.0, 1.0])))
    np.testing.assert_array_equal(over.of(scores()), [0.0, -6.0, 4.5, 6.0])
    error = np.full(VALUES.shape, 0.1)
    error[2, 1] = 100.0
    np.testing.assert_array_equal(over.bound(error), [0.2, 100.1, 0.2, 0.2])
    np.testing.assert_array_equal(over.of(scores(error=error)), [0.0, np.nan, 4.5, 6.0])


def test_one_query():
    np.testing.assert_array_equal(Weighted(np.array([0.0, 1.0, 0.0])).of(scores()), VALUES[1])


def test_a_candidate_that_did_not_converge_is_left_out_and_a_flag_takes_nothing_out():
    converged = np.array([True, True, True, False])
    resolved = np.array([[True, True, False, True], [True, False, False, True], [True, True, False, True]])
    found = scores(converged=converged, resolved=resolved)
    for aggregate in (Mean(), Weighted(np.array([1.0, 7.0, 3.0]))):
        np.testing.assert_array_equal(aggregate.of(found), np.where(converged, aggregate.of(scores()), np.nan))


def test_a_mean_is_left_out_where_its_error_bound_leaves_it_no_position():
    error = np.full(VALUES.shape, 0.1)
    error[:, 1] = [0.0, 0.0, np.inf]
    found = scores(error=error)
    whole = Mean().of(scores())
    np.testing.assert_array_equal(Mean().of(found), [whole[0], np.nan, *whole[2:]])
    np.testing.assert_array_equal(Weighted(np.array([1.0, 1.0, 0.0])).of(found),
                                  Weighted(np.array([1.0, 1.0, 0.0])).of(scores()))
    error[0, 1] = np.nan  # no bound is stated
    np.testing.assert_array_equal(Mean().of(scores(error=error)), whole)


def test_the_mean_of_single_precision_is_taken_in_double():
    values = np.random.default_rng(0).standard_normal((300, 7)).astype(np.float32)
    np.testing.assert_array_equal(Mean().over(values), values.mean(0, dtype=np.float64))


@pytest.mark.parametrize("weights", [[-1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0], 2.0])
def test_weights_that_are_none_are_a_sentence(weights):
    with pytest.raises(InvalidInput, match="[Ww]eight"):
        Weighted(np.array(weights))


def test_queries_that_are_not_there_are_a_sentence():
    with pytest.raises(InvalidInput, match="give 3, one per query"):
        Weighted(np.ones(2)).of(scores())
