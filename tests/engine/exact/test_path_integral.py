"""Eq. 7: the integral against the difference of its ends, both against other routes to the same optimum."""

import math

import pytest
import torch
from torch import nn

from engine.basics.errors import Cancelled, InvalidInput
from engine.exact.path_integral import path_integral, quadrature
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Upweight
from engine.question.processes import Reoptimize
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases as cases

SMOOTH = [BEHAVIORS[name] for name in ("query_loss", "query_logit", "soft_margin", "probability")]
titled = {"ids": lambda value: getattr(value, "name", None)}


@pytest.mark.grid
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("behavior", SMOOTH, **titled)
def test_both_sides_agree_for_softmax_regression(behavior, alpha, intercept):
    problem = naive.problem(n=40, d=4, candidates=[9], intercept=intercept)
    found = path_integral(problem, 9, alpha, behavior)
    assert found.difference.abs().max() > 0.01 * alpha
    assert found.gap < 1e-6 * min(1.0, found.difference.abs().max().item()) and found.gradient_norm < 1e-10
    scores = compute(problem, Scoring.of(behavior.name, Upweight(alpha=alpha), Reoptimize()))[0].values
    naive.assert_close(found.difference, scores[:, 0], 1e-7, 1e-9)


def test_the_rate_at_the_start_is_the_local_response():
    problem = naive.problem(n=40, d=4, candidates=[9])
    found = path_integral(problem, 9, 0.1, BEHAVIORS["query_loss"])
    local = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
    naive.assert_close(found.first, compute(problem, local)[0].values[:, 0], 1e-7, 1e-9)
    rates = torch.stack([found.first, *found.integrand, found.last])
    assert (rates.diff(dim=0).sign() == rates.diff(dim=0)[0].sign()).double().mean() > 0.9  # one way, but for bends


def test_hard_margin_agrees_away_from_its_kinks():
    problem = naive.problem(n=40, d=4)
    found = path_integral(problem, 9, 1e-3, BEHAVIORS["hard_margin"])
    assert found.gap < 1e-6 * found.difference.abs().max()


@pytest.mark.parametrize("behavior", SMOOTH, **titled)
def test_a_linear_layer_with_a_dense_hessian_gives_the_same(behavior):
    soft, module = cases.pair(n=40, d=4)
    one, other = (path_integral(problem, 9, 0.3, behavior) for problem in (soft, module))
    naive.assert_close(other.integral, one.integral, 1e-9, 1e-12)
    naive.assert_close(other.difference, one.difference, 1e-9, 1e-12)
    naive.assert_close(other.integrand, one.integrand, 1e-8, 1e-11)


def test_the_last_layer_of_a_network_starts_from_its_own_optimum():
    """θ_D is no optimum of this convex problem, so the path starts where re-optimising it leads."""
    problem = cases.problem(cases.smooth, (4,), parameters="last_layer", l2=0.05)
    assert problem.facts["factual_gradient_norm"] > 1e-3
    found = path_integral(problem, 2, 0.2, BEHAVIORS["query_loss"])
    assert found.gap < 1e-6 * found.difference.abs().max() and found.gradient_norm < 1e-10


def test_more_nodes_close_the_gap():
    problem = naive.problem(n=40, d=4)
    gaps = [path_integral(problem, 9, 1.0, BEHAVIORS["query_loss"], nodes=nodes).gap for nodes in (1, 2, 4, 8)]
    assert gaps[0] > 5 * gaps[1] > 50 * gaps[2] > 5000 * gaps[3]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_the_quadrature_is_exact_for_what_it_is_made_for(scale):
    """∫₀² a/(a + scale)² da, which in u is the integral of 1 − exp(−u); and the length of the interval."""
    alphas, weights = quadrature(2.0, scale, 12)
    assert alphas.min() > 0 and alphas.max() < 2.0
    assert weights.sum().item() == pytest.approx(2.0, rel=1e-9)
    found = (weights * alphas / (alphas + scale).square()).sum().item()
    expected = math.log1p(2 / scale) - 2 / (2 + scale)
    assert found == pytest.approx(expected, rel=1e-8)


def test_the_integrand_is_the_derivative_along_the_path():
    """By a central difference of the optimum itself at the middle node."""
    problem, behavior, k = naive.problem(n=40, d=4), BEHAVIORS["query_loss"], 9
    found = path_integral(problem, k, 0.2, behavior, nodes=3)
    a, h = found.alphas[1].item(), 1e-4
    ends = [naive.values(behavior, problem, naive.optimum(problem, Upweight(alpha=a + step), k, problem.weights))
            for step in (h, -h)]
    naive.assert_close(found.integrand[1], (ends[0] - ends[1]) / (2 * h), 1e-6, 1e-9)


def test_single_precision_is_followed_in_double():
    problem = cases.problem(cases.smooth, (4,), parameters="last_layer", l2=0.05, dtype="float32")
    found = path_integral(problem, 2, 0.2, BEHAVIORS["query_loss"])
    assert found.integral.dtype == torch.float64 and found.gap < 1e-6 * found.difference.abs().max()
    assert problem.double().network.dtype == torch.float64 and problem.network.dtype == torch.float32


def test_what_is_refused():
    problem = naive.problem()
    with pytest.raises(InvalidInput, match="no training example 60; choose one of 0 to 59"):
        path_integral(problem, 60, 0.1, SMOOTH[0])
    with pytest.raises(InvalidInput, match="`correct` has no gradient"):
        path_integral(problem, 0, 0.1, BEHAVIORS["correct"])
    with pytest.raises(InvalidInput, match="Hessian is not positive definite on the path; raise l2"):
        path_integral(cases.problem(l2=0.0), 0, 0.1, SMOOTH[0])
    large = cases.problem(lambda: nn.Sequential(nn.Flatten(), nn.Linear(72, 60), nn.Linear(60, 3)))
    with pytest.raises(InvalidInput, match="Hessian of 4,563 parameters; select at most 4,000"):
        path_integral(large, 0, 0.1, SMOOTH[0])

    def cancel():
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        path_integral(problem, 0, 0.1, SMOOTH[0], check=cancel)
    assert torch.equal(problem.weights, naive.problem().weights)
