"""Influence functions by every solver: one linear response, with each solver's own residual and settings."""

import numpy as np
import pytest

from engine.curvature import solvers_for
from engine.estimators import ESTIMATORS
from engine.problems import SoftmaxProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive

HESSIANS = solvers_for(SoftmaxProblem)
INFINITESIMAL, REOPTIMIZE = {"kind": "infinitesimal"}, {"kind": "reoptimize"}
DAMPED = {"kind": "local_response", "damping": 0.05}
ITERATIVE = [name for name, solver in HESSIANS.items() if not solver.exact]


def exact_response(problem):
    return compute(problem, Scoring.of("query_loss", INFINITESIMAL, DAMPED))[0].values


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("solver", ITERATIVE)
def test_every_solver_approximates_the_exact_response(solver, intercept):
    problem = naive.problem(candidates=range(9), intercept=intercept)
    found = compute(problem, Scoring.of("query_loss", INFINITESIMAL, DAMPED, solver))[0]
    exact = exact_response(problem)
    assert np.corrcoef(found.values.ravel(), exact.ravel())[0, 1] > (0.8 if solver == "kfac" else 0.99)
    assert found.residual.shape == (9,) and (found.residual >= 0).all() and found.provenance["convergence"]
    if solver in ("cg", "lissa"):
        naive.assert_close(found.values, exact, 0.05)
    if solver == "cg":
        naive.assert_close(found.values, exact, 0.02)
        assert (found.residual <= found.provenance["convergence"]["tolerance"]).all()


@pytest.mark.parametrize("solver", HESSIANS)
def test_upweighting_is_alpha_times_the_response(solver):
    problem = naive.problem(candidates=range(5))
    small, large = compute(problem, [Scoring.of("hard_margin", {"kind": "upweight", "alpha": alpha}, REOPTIMIZE, solver)
                                     for alpha in (1e-4, 1e-2)])
    naive.assert_close(large.values, 100 * small.values, 1e-10)
    np.testing.assert_allclose(large.residual, small.residual)


def test_cholesky_on_a_local_response_is_exact_itself_and_not_offered_twice():
    assert "local_response" not in ESTIMATORS["cholesky"].processes and not ESTIMATORS["cholesky"].exact
    assert all("local_response" in ESTIMATORS[name].processes for name in ITERATIVE)
    assert set(HESSIANS) < set(ESTIMATORS)


def test_behaviors_share_one_solve_and_differ_only_in_their_signal():
    """Any linear estimator: margin = logit − rival logit, so scores of shares of a behavior add up."""
    problem = naive.problem(candidates=range(5), classes=2)
    soft, hard, loss = (compute(problem, Scoring.of(name, INFINITESIMAL, DAMPED, "cg"))[0].values
                        for name in ("soft_margin", "hard_margin", "query_loss"))
    naive.assert_close(soft, hard, 1e-12)
    p = (problem.query_logits.softmax(1).gather(1, problem.query_labels[:, None])).numpy()
    naive.assert_close(loss, (1 - p) * soft, 1e-12)
