"""Weights at which numbers overflow: no score that is not finite counts as converged, by any route; nothing breaks."""

import warnings

import numpy as np
import pytest

from engine.analysis.groups import effects
from engine.basics.errors import InvalidInput
from engine.problems import SoftmaxProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

SOLVERS = ("exact", "cholesky", "cg", "lissa", "arnoldi", "kfac", "ekfac", "datainf")
ALPHAS = (1e308, -1e308, 1e200, 5e-324)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    x, y = 1e3 * rng.normal(size=(20, 4)), np.arange(20) % 3
    return SoftmaxProblem(x, y, x[:4], y[:4], range(6), l2=1e-4)


@pytest.mark.grid(2)
@pytest.mark.parametrize("estimator", SOLVERS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("process", ["local_response", "reoptimize", "retrain"])
def test_no_score_that_is_not_finite_is_of_a_candidate_that_converged(problem, process, estimator, alpha):
    try:
        scorings = [Scoring.of(behavior, {"kind": "upweight", "alpha": alpha}, {"kind": process}, estimator)
                    for behavior in ("query_loss", "query_logit", "probability")]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            found = compute(problem, scorings)
            for scores in found:
                assert not (scores.converged & ~np.isfinite(scores.values).all(0)).any()
                assert not (scores.ranked | scores.signed)[~np.isfinite(scores.values)].any()
                assert np.isfinite(scores.trusted[scores.ranked]).all() and scores.below_resolution >= 0
    except InvalidInput:
        return  # a question that is refused in a sentence
    assert len(found) == 3


@pytest.mark.parametrize("alpha", [1e308, 1e100])
def test_a_group_that_overflows_has_no_effect(problem, alpha):
    asked = Scoring.of("query_loss", {"kind": "upweight", "alpha": alpha}, {"kind": "reoptimize"})
    try:
        whole = effects(problem, asked, [problem.candidates[:3], problem.candidates[3:4]])
    except InvalidInput:
        return
    assert (np.isnan(whole) | np.isfinite(whole)).all() and (np.isnan(whole).all(0) | np.isfinite(whole).all(0)).all()
