"""The local decomposition: its product against first-order scores by other routes, its factors against jacrev."""

import pytest
import torch
from torch.func import jacrev
from torch.nn.functional import cross_entropy

from engine.basics.errors import InvalidInput
from engine.exact.decomposition import decompose
from engine.question.behaviors import BEHAVIORS
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.processes import OneStep
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases as cases

SMOOTH = [behavior for behavior in CLASS_BEHAVIORS if behavior.differentiable]
PAIRS = [(0, 9), (3, 0), (4, 5)]
titled = {"ids": lambda value: getattr(value, "name", None)}


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("behavior", SMOOTH, **titled)
def test_softmax_product_is_the_first_order_score(behavior, intercept):
    problem = naive.problem(candidates=[9, 0, 5], intercept=intercept)
    scoring = Scoring.of(behavior.name, {"kind": "add_occurrence"}, OneStep(eta=0.3), "first_order")
    scores = compute(problem, scoring)[0].values
    for column, candidate in enumerate((9, 0, 5)):
        for query in range(len(problem.queries)):
            found = decompose(problem, query, candidate, behavior, eta=0.3)
            assert found.score == pytest.approx(scores[query, column], rel=1e-10, abs=1e-14)
            inner = problem.queries[query] @ problem.x[candidate]
            torch.testing.assert_close(found.kernel, 0.3 * inner * torch.eye(3).double(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("behavior", SMOOTH, **titled)
def test_softmax_product_with_an_inverse_hessian_is_the_local_response(behavior):
    problem = naive.problem(candidates=[9, 0])
    scoring = Scoring.of(behavior.name, {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.01})
    scores = compute(problem, scoring)[0].values
    solve = lambda rows: torch.cholesky_solve(rows.T, problem.cholesky(0.01)).T  # noqa: E731
    for column, candidate in enumerate((9, 0)):
        found = decompose(problem, 2, candidate, behavior, response=solve)
        assert found.score == pytest.approx(scores[2, column], rel=1e-9, abs=1e-13)


@pytest.mark.grid
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("selection", ["all", "last_layer"])
@pytest.mark.parametrize("behavior", SMOOTH, **titled)
def test_network_product_is_the_inner_product_of_gradients(behavior, selection, dtype):
    problem = cases.problem(parameters=selection, dtype=dtype)
    for query, candidate in PAIRS:
        theta = problem.theta.clone().requires_grad_(True)
        value = behavior.value(problem.network.logits(problem.queries[query:query + 1], theta),
                               problem.query_labels[query:query + 1]).sum()
        own = cross_entropy(problem.network.logits(problem.x[candidate:candidate + 1], theta),
                            problem.y[candidate:candidate + 1])
        along, force = (torch.autograd.grad(scalar, theta)[0].double() for scalar in (value, own))
        found = decompose(problem, query, candidate, behavior, eta=0.2)
        scale = 0.2 * along.norm() * force.norm()
        assert found.score == pytest.approx(-0.2 * (along @ force).item(), abs=1e-5 * scale.item())
        if dtype == "float64":
            assert found.score == pytest.approx(-0.2 * (along @ force).item(), rel=1e-10, abs=1e-14)


def test_network_factors_are_jacobians():
    problem, behavior = cases.problem(cases.smooth, (4,)), BEHAVIORS["query_loss"]
    theta = problem.theta
    jacobian = lambda x: jacrev(lambda at: problem.network.logits(x[None], at)[0])(theta)  # noqa: E731
    middle = torch.randn(len(theta), len(theta), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = decompose(problem, 1, 6, behavior, eta=0.5, response=lambda rows: rows @ middle.T)
    expected = 0.5 * jacobian(problem.queries[1]) @ middle @ jacobian(problem.x[6]).T
    torch.testing.assert_close(found.kernel, expected, rtol=1e-10, atol=1e-13)
    logits = problem.network.logits(problem.x[6:7])
    signal = logits.softmax(-1)[0] - torch.eye(3).double()[problem.y[6]]
    torch.testing.assert_close(found.training_signal, signal, rtol=1e-12, atol=1e-14)
    signal = torch.eye(3).double()[problem.query_labels[1]] - problem.query_logits[1].softmax(-1)
    torch.testing.assert_close(found.behavior_signal, signal, rtol=1e-12, atol=1e-14)


def test_a_linear_layer_decomposes_as_softmax_regression():
    soft, module = cases.pair(intercept=True)
    for behavior in SMOOTH:
        one, other = (decompose(problem, 3, 9, behavior, eta=0.1) for problem in (soft, module))
        for field in ("behavior_signal", "kernel", "training_signal"):
            torch.testing.assert_close(getattr(one, field), getattr(other, field), rtol=1e-10, atol=1e-13)


def test_what_is_refused():
    problem = naive.problem()
    with pytest.raises(InvalidInput, match="no query 7; choose one of 0 to 6"):
        decompose(problem, 7, 0, SMOOTH[0])
    with pytest.raises(InvalidInput, match="no training example 60; choose one of 0 to 59"):
        decompose(problem, 0, 60, SMOOTH[0])
    with pytest.raises(InvalidInput, match="`correct` has no gradient"):
        decompose(problem, 0, 0, BEHAVIORS["correct"])
