"""The guess of how long scorings take: what it must grow with, what it must not count twice."""

import pytest

from engine.scoring.cost.kinds import QUICK_SOLVE, is_optimum, is_searched, is_slow
from engine.scoring.cost.softmax import seconds
from engine.scoring.scoring import Scoring

REMOVE, REOPTIMIZE = {"kind": "remove"}, {"kind": "reoptimize"}
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
LOO = Scoring.of("query_loss", REMOVE, REOPTIMIZE)
LOCAL = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
SIZES = {"n": 2_000, "parameters": 1_960, "queries": 100, "candidates": 100}


def upweight(alpha, estimator="exact"):
    return Scoring.of("query_loss", {"kind": "upweight", "alpha": alpha}, REOPTIMIZE, estimator)


def test_which_scorings_cost_a_reoptimisation_a_candidate():
    assert is_optimum(LOO) and is_optimum(upweight(0.1))
    assert is_optimum(Scoring.of("correct", REMOVE, {"kind": "retrain"}))
    assert not is_optimum(STEP) and not is_optimum(LOCAL) and not is_optimum(upweight(0.1, "cholesky"))


def test_solves_are_slow_where_the_model_is_large_and_optima_always():
    searched = Scoring.of("query_loss", REMOVE, {"kind": "local_search"})
    assert is_searched(searched) and is_slow(searched, 10) and not is_optimum(searched)
    assert is_slow(LOO, 10) and not is_slow(STEP, 10**6)
    for solve in (LOCAL, upweight(0.1, "cholesky")):
        assert is_slow(solve, QUICK_SOLVE + 1) and not is_slow(solve, QUICK_SOLVE)


@pytest.mark.parametrize("size", SIZES)
def test_more_of_anything_costs_more(size):
    larger = {**SIZES, size: 10 * SIZES[size]}
    assert seconds([LOO], **larger) > seconds([LOO], **SIZES)


def test_a_step_is_cheaper_than_a_solve_than_an_optimum_and_alpha_counts():
    costs = [seconds([scoring], **SIZES) for scoring in (STEP, LOCAL, LOO)]
    assert costs == sorted(costs) and costs[0] < costs[2] / 10
    alphas = [seconds([upweight(alpha)], **SIZES) for alpha in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e4)]
    assert alphas == sorted(alphas) and alphas[-1] > alphas[0]
    assert seconds([upweight(-1e-3)], **SIZES) == seconds([upweight(1e-3)], **SIZES)


def test_what_shares_its_models_is_counted_once():
    one = seconds([LOO], **SIZES)
    four = seconds([Scoring.of(b, REMOVE, REOPTIMIZE) for b in ("query_loss", "query_logit", "correct", "probability")],
                   **SIZES)
    assert one < four < 1.5 * one
    assert seconds([LOO, upweight(1e-3)], **SIZES) > 1.8 * one
    assert seconds([], **SIZES) == 0.0


def test_live_sizes_are_live_and_paper_sizes_are_not():
    """The pages answer at once below some seconds; see DESIGN, section 5, and the figures of `make bench`."""
    assert seconds([STEP], n=1_297, parameters=640, queries=200, candidates=1_297) < 1
    assert seconds([LOO], n=1_297, parameters=640, queries=200, candidates=300) < 2
    assert seconds([LOO], n=20_000, parameters=7_840, queries=1_000, candidates=1_000) > 60


def test_fashion_mnist_of_two_thousand_is_live_with_a_hundred_candidates():
    sizes = {"n": 2_000, "parameters": 7_840, "queries": 200, "candidates": 100}
    assert all(seconds([scoring], **sizes) < 4 for scoring in (LOO, LOCAL, upweight(1e-3), upweight(0.1)))
