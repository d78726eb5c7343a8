"""Re-optimisation of the tanh MLP against Newton with dense Hessians, in float64."""

import numpy as np
import pytest
import torch

from engine.basics.options import Options
from engine.exact.intervened import ModuleFamily
from engine.exact.network_optima import origin_of
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.truth import cases
from tests.truth.naive import BEHAVIORS, Naive

ALPHAS = (1e-6, 1e-4)
PROCESS = {"kind": "reoptimize", "baseline": "reoptimized"}


def objective(naive, k=0, alpha=0.0):
    """L_D + α ℓ_k."""
    return lambda theta: naive.objective(theta) + alpha * naive.loss(k, theta)


def newton(naive, function, theta):
    """To the last digits, from where the Hessian is positive definite."""
    for _ in range(30):
        slope, hessian = naive.gradient(function, theta), naive.hessian(function, theta)
        assert torch.linalg.eigvalsh(hessian).min() > 0
        theta = theta - torch.linalg.solve(hessian, slope)
        if slope.norm() < 1e-15:
            break
    return theta


def reached(problem):
    """θ*, where the engine's search without an intervention ends."""
    return origin_of(ModuleFamily(problem, 0.0, Options())).minimum.theta


@pytest.fixture(scope="module")
def case():
    problem = cases.problem("tanh", "float64")
    problem.decay = 0.1
    return problem, Naive(problem)


@pytest.mark.parametrize("alpha", [ALPHAS[0], pytest.param(ALPHAS[1], marks=pytest.mark.slow)])
def test_optima_of_the_upweighted_objectives(case, alpha):
    """θ* is the engine's own; that it is a strict minimum is checked, and where every candidate's optimum is.

    Removal and relabelling are held against the same reference in `tests.engine.exact.test_network_optima`.
    """
    problem, naive = case
    start = newton(naive, objective(naive), reached(problem))
    moved = [newton(naive, objective(naive, k, alpha), start) for k in naive.candidates]
    for behavior in BEHAVIORS:
        found = compute(problem, Scoring.of(behavior, {"kind": "upweight", "alpha": alpha}, PROCESS))[0]
        assert found.converged.all()
        known = found.above_resolution
        assert known.mean() > 0.8
        np.testing.assert_allclose(found.values[known], naive.differences(behavior, moved, start)[known], rtol=2e-6,
                                   atol=1e-14)


def test_a_tiny_upweighting_is_its_linear_response(case):
    """At α = 1e-6 the optimum has moved by α times the response of θ*, to 1e-4 of it."""
    problem, naive = case
    start = reached(problem)
    inverse = torch.linalg.inv(naive.hessian(objective(naive), start))
    found = compute(problem, Scoring.of("query_loss", {"kind": "upweight", "alpha": 1e-6}, PROCESS))[0]
    directions = [-1e-6 * inverse @ naive.gradient(lambda at, k=k: naive.loss(k, at), start) for k in naive.candidates]
    expected = naive.directional("query_loss", directions, start)
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
