"""Linear responses against a dense inverse, finite upweighting as α → 0, and the gradient of each intervention."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import softmax_hessian
from engine.curvature.cholesky import CHOLESKY
from engine.exact import local_response
from engine.models import softmax
from engine.question.behaviors import BEHAVIORS
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.interventions import Infinitesimal, Remove, Upweight
from engine.question.processes import Reoptimize
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive

CANDIDATES = [9, 0, 5]
DIFFERENTIABLE = [behavior.name for behavior in CLASS_BEHAVIORS if behavior.differentiable]
INFINITESIMAL, REOPTIMIZE = {"kind": "infinitesimal"}, {"kind": "reoptimize"}
INTERVENTIONS = [{"kind": "upweight", "alpha": 0.01}, {"kind": "remove", "normalization": "n"}, {"kind": "remove"},
                 {"kind": "relabel", "label": 1}]
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def directional(problem, behavior, direction):
    """dB(q; W + t·direction)/dt at t = 0, (m,), by forward mode."""
    value = lambda weights: naive.values(behavior, problem, weights)  # noqa: E731
    return torch.func.jvp(value, (problem.weights,), (direction,))[1].numpy()


def response(problem, gradient, damping=0.0):
    """−(H + damping·I)⁻¹ gradient by a dense solve with the autograd Hessian."""
    dense = naive.hessian(problem.weights, problem)
    dense = naive.gauge(dense + damping * torch.eye(len(dense), dtype=torch.float64), problem)
    return -torch.linalg.solve(dense, gradient.flatten()).view_as(problem.weights)


def own_gradient(problem, k):
    return naive.gradient(problem.weights, problem, data_weight=0.0, extra=[(k, int(problem.y[k]), 1.0)]) - (
        naive.gradient(problem.weights, problem, data_weight=0.0))


@intercepts
@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_every_behavior_against_a_dense_inverse(damping, intercept):
    """−∇Bᵀ (H + damping·I)⁻¹ ∇ℓ(z_k)."""
    problem = naive.problem(candidates=CANDIDATES, intercept=intercept)
    found = compute(problem, [Scoring.of(name, INFINITESIMAL, {"kind": "local_response", "damping": damping})
                              for name in DIFFERENTIABLE])
    moves = [response(problem, own_gradient(problem, k), damping) for k in CANDIDATES]
    for scores in found:
        expected = np.stack([directional(problem, scores.scoring.readout, move) for move in moves], 1)
        naive.assert_close(scores.values, expected, 1e-9)
        assert scores.converged.all() and (scores.residual < 1e-10).all()


@intercepts
def test_it_is_the_derivative_of_exact_upweighting(intercept):
    """(B(α) − B(0)) / α → dB/dα; Richardson's 2 D(α) − D(2α) takes out the error of first order in α."""
    problem = naive.problem(candidates=CANDIDATES, intercept=intercept)
    for name in ("query_loss", "hard_margin"):
        slope = compute(problem, Scoring.of(name, INFINITESIMAL, {"kind": "local_response"}))[0].values
        quotients = {}
        for alpha in (2e-4, 1e-4, 1e-3):
            scoring = Scoring.of(name, {"kind": "upweight", "alpha": alpha}, REOPTIMIZE)
            quotients[alpha] = compute(problem, scoring, Options(tolerance=1e-13))[0].values / alpha
        naive.assert_close(2 * quotients[1e-4] - quotients[2e-4], slope, 1e-4)
        errors = [np.abs(quotients[alpha] - slope).max() for alpha in (1e-3, 1e-4)]
        assert 5 < errors[0] / errors[1] < 15, "the error must fall in proportion to α"


@intercepts
@pytest.mark.parametrize("intervention", INTERVENTIONS, ids=lambda value: "-".join(map(str, value.values())))
def test_finite_interventions_are_linearised_at_their_own_gradient(intervention, intercept):
    """−∇Bᵀ H⁻¹ ∇F_k(θ_D): α times the derivative, or removal over n − 1 with the offset that all candidates share."""
    problem = naive.problem(candidates=CANDIDATES, intercept=intercept)
    scores = compute(problem, Scoring.of("hard_margin", intervention, REOPTIMIZE, "cholesky"))[0]
    forces = [naive.gradient(problem.weights, problem, **naive.intervened(problem, scores.scoring.intervention, k))
              for k in CANDIDATES]
    expected = np.stack([directional(problem, scores.scoring.readout, response(problem, force)) for force in forces], 1)
    naive.assert_close(scores.values, expected, 1e-9)


def test_finite_interventions_are_multiples_of_the_derivative():
    """α dB/dα for upweighting, −1/n for removal over n, and −1/(n−1) plus one offset a query over n − 1."""
    problem = naive.problem(candidates=range(12))
    n = problem.n
    slope = compute(problem, Scoring.of("query_loss", INFINITESIMAL, {"kind": "local_response"}))[0].values
    linear = [compute(problem, Scoring.of("query_loss", value, REOPTIMIZE, "cholesky"))[0].values
              for value in INTERVENTIONS[:3]]
    naive.assert_close(linear[0], 0.01 * slope, 1e-12)
    naive.assert_close(linear[1], -slope / n, 1e-12)
    offset = linear[2] + slope / (n - 1)
    naive.assert_close(offset, np.repeat(offset[:, :1], 12, 1), 1e-10)
    shrink = problem.l2 / (n - 1) * problem.weights  # −(a − 1)·∇ of the data loss, which is −λθ_D at the optimum
    naive.assert_close(offset[:, 0], directional(problem, BEHAVIORS["query_loss"], response(problem, -shrink)), 1e-9)
    assert np.abs(offset).max() > 0.01 * np.abs(linear[2]).max(), "an offset that nobody could see tests nothing"


def test_the_linearisation_errs_in_second_order():
    """Halving α quarters the gap between the exact score and its linearisation."""
    problem = naive.problem(candidates=CANDIDATES)
    gaps = []
    for alpha in (2e-3, 1e-3):
        upweight = {"kind": "upweight", "alpha": alpha}
        exact, linear = (compute(problem, Scoring.of("query_loss", upweight, REOPTIMIZE, name),
                                 Options(tolerance=1e-13))[0].values for name in ("exact", "cholesky"))
        gaps.append(np.abs(exact - linear).max())
    assert 3.5 < gaps[0] / gaps[1] < 4.5


def test_removal_is_linearised_with_the_right_sign_and_size():
    problem = naive.problem(candidates=range(20), n=200, l2=0.1)
    for normalization in ("n-1", "n"):
        exact, linear = (compute(problem, Scoring.of("query_loss", {"kind": "remove", "normalization": normalization},
                                                     REOPTIMIZE, name))[0].values for name in ("exact", "cholesky"))
        naive.assert_close(linear, exact, 0.05)


def test_columns_in_any_batches_are_the_same(monkeypatch):
    problem = naive.problem(candidates=range(13))
    scorings = [Scoring.of("query_loss", INFINITESIMAL, {"kind": "local_response"}),
                *(Scoring.of("query_loss", value, REOPTIMIZE, "cholesky") for value in INTERVENTIONS)]
    whole = compute(problem, scorings)
    monkeypatch.setattr(local_response, "COLUMN_BYTES", 8 * problem.parameters * 4)
    for scores, expected in zip(compute(problem, scorings), whole, strict=True):
        naive.assert_close(scores.values, expected.values, 1e-12)
        assert scores.residual.shape == (13,)


def test_many_alphas_cost_one_solve():
    """The force of upweighting is α times one direction."""
    solved = []

    def solve(operator, rhs):
        solved.append(rhs.shape[-1])
        return CHOLESKY.solve(operator, rhs)

    problem = naive.problem(candidates=CANDIDATES)
    interventions = [Upweight(alpha=1e-5), Upweight(alpha=1.0), Infinitesimal(), Remove()]
    found = local_response.linear_responses(replace(CHOLESKY, solve=solve), problem, interventions, Reoptimize(),
                                            problem.candidates, Options())
    assert solved == [3, 3]
    torch.testing.assert_close(found[0].terms[0].change * 1e5, found[1].terms[0].change)
    torch.testing.assert_close(found[1].terms[0].change, found[2].terms[0].change)


def test_a_model_without_dense_hessian_is_referred_to_cg(monkeypatch):
    problem = naive.problem(candidates=CANDIDATES)
    problem.fit  # noqa: B018 - trained with the dense Hessian
    monkeypatch.setattr(softmax, "DENSE_LIMIT", 1)
    monkeypatch.setattr(softmax_hessian, "DENSE_PRODUCT", 0)
    exact = Scoring.of("query_loss", INFINITESIMAL, {"kind": "local_response"})
    with pytest.raises(InvalidInput, match="`cg`"):
        compute(problem, exact)
    by_cg = compute(problem, Scoring.of("query_loss", INFINITESIMAL, {"kind": "local_response"}, "cg"))[0]
    monkeypatch.undo()
    naive.assert_close(by_cg.values, compute(problem, exact)[0].values, 0.02)
