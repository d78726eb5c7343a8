"""Aggregates that are pooled before products, against the scores of every query put together afterwards."""

import numpy as np
import pytest
import torch

from engine.estimators import ESTIMATORS
from engine.question.behaviors import BEHAVIORS
from engine.scoring.aggregate import Mean, OwnClass, Weighted
from engine.scoring.compute import compute
from engine.scoring.pooled import aggregated, by_query, form
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases as cases

STEP, STEPS = {"kind": "one_step", "eta": 0.3}, {"kind": "unrolled", "eta": 0.1, "steps": 4}
ADD, RATE, RESPONSE = {"kind": "add_occurrence"}, {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 2.0}
SCORINGS = [*(Scoring.of(behavior, ADD, process, "first_order") for behavior in ("query_loss", "hard_margin")
              for process in (STEP, STEPS)),
            *(Scoring.of("query_logit", RATE, RESPONSE, name)
              for name in ("arnoldi", "ekfac", "datainf", "lissa", "astra"))]
OVERS = [Mean(), Weighted(np.array([0.0, 2.0, 0.5, 0.0, 1.0])), Weighted(np.arange(70.0).reshape(5, 14))]


@pytest.fixture(scope="module")
def network():
    return cases.problem(cases.smooth, (4,))


@pytest.mark.parametrize("over", OVERS, ids=lambda over: type(over).__name__)
def test_pooled_is_the_aggregate_of_every_query(network, over):
    assert all(map(form, SCORINGS))
    found = aggregated(network, SCORINGS, over)
    for own, scores in zip(found, compute(network, SCORINGS), strict=True):
        expected = over.of(scores)
        np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("solver", ["cg", "cg_gauss_newton"])
def test_a_solver_with_a_tolerance_agrees_to_it(network, solver):
    scoring = Scoring.of("query_logit", RATE, RESPONSE, solver)
    found, expected = aggregated(network, [scoring], Mean())[0], Mean().of(compute(network, scoring)[0])
    np.testing.assert_allclose(found, expected, atol=0.03 * np.abs(expected).max())


def few_iterations(matrix, right, count):
    """Conjugate gradients as Hestenes and Stiefel write them."""
    x = np.zeros_like(right)
    residual = direction = right
    for _ in range(count):
        image = matrix @ direction
        length = residual @ residual / (direction @ image)
        x, after = x + length * direction, residual - length * image
        direction = after + (after @ after) / (residual @ residual) * direction
        residual = after
    return x


@pytest.mark.parametrize("count", [3, 200])
def test_a_system_is_solved_for_every_query(network, count):
    """−∇B_qᵀ x_k, x by a few iterations from the query's side; with many, those from the candidates' side."""
    behaviors, damping = ("query_loss", "hard_margin"), RESPONSE["damping"]
    scorings = [Scoring.of(b, RATE, RESPONSE, f"cg;tolerance=1e-12;iterations={count}") for b in behaviors]
    scores = by_query(network, scorings)
    size = len(network.theta)
    hessian = torch.autograd.functional.hessian(
        lambda theta: network.loss(network.network.logits(network.x, theta), network.y).mean(), network.theta)
    matrix = hessian.numpy() + (network.l2 + damping) * np.eye(size)
    gradients = torch.stack([torch.autograd.functional.jacobian(
        lambda theta, k=k: network.loss(network.network.logits(network.x[k:k + 1], theta), network.y[k:k + 1]).sum(),
        network.theta) for k in range(network.n)]).numpy()
    for behavior, own in zip(behaviors, scores, strict=True):
        for query, row in enumerate(own):
            def value(theta, query=query, behavior=behavior):
                logits = network.network.logits(network.queries[query:query + 1], theta)
                return BEHAVIORS[behavior].value(logits, network.query_labels[query:query + 1]).sum()

            slope = torch.autograd.functional.jacobian(value, network.theta).numpy()
            expected = -gradients @ few_iterations(matrix, slope, min(count, 25))
            np.testing.assert_allclose(row, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    if count > 25:
        for own, exact in zip(scores, compute(network, scorings), strict=True):
            np.testing.assert_allclose(own, exact.oriented, rtol=1e-6, atol=1e-9)


def test_what_has_no_form_is_put_together_afterwards(network):
    asked = [SCORINGS[0], Scoring.of("query_loss", ADD, STEP)]
    assert form(asked[1]) is None
    for problem in (network, naive.problem(n=20)):
        for own, scores in zip(aggregated(problem, asked, Mean()), compute(problem, asked), strict=True):
            np.testing.assert_array_equal(own, Mean().of(scores))


def test_no_score_of_a_single_query_is_formed(network, monkeypatch):
    monkeypatch.setattr("engine.scoring.pooled.compute", None)
    aggregated(network, SCORINGS, Mean())


def test_forms_belong_to_routes():
    for estimator in ESTIMATORS.values():
        assert {process for _, process in estimator.pooled} <= set(estimator.routes)


def of_own_class(problem):
    return OwnClass(problem.query_labels.numpy(), problem.y[problem.candidates].numpy())


@pytest.mark.parametrize("rows", [None, [9, 0, 5]])
def test_an_inner_product_by_class_is_the_mean_of_every_query(network, rows):
    problem = network if rows is None else network.with_candidates(rows)
    scoring = Scoring.of("query_logit", {"kind": "auxiliary"}, STEP, "ntk_last_layer")
    [found] = aggregated(problem, [scoring], of_own_class(problem))
    np.testing.assert_allclose(found, of_own_class(problem).of(compute(problem, scoring)[0]), rtol=1e-10)


def test_a_cosine_by_class_is_that_with_the_mean_representation(network):
    phi, queries = (network.network.module[1](network.network.module[0](x)).detach() for x in (
        network.x, network.queries))
    scoring = Scoring.of("query_logit", {"kind": "auxiliary"}, STEP, "cosine")
    [found] = aggregated(network, [scoring], of_own_class(network))
    for k, label in enumerate(network.y):
        mean = queries[network.query_labels == label].mean(0)
        assert found[k] == pytest.approx(0.3 * float(phi[k] @ mean / phi[k].norm() / mean.norm()), rel=1e-10)


def test_what_compares_no_representations_is_put_together_by_class_afterwards(network):
    [found] = aggregated(network, [SCORINGS[0]], of_own_class(network))
    np.testing.assert_allclose(found, of_own_class(network).of(compute(network, SCORINGS[0])[0]), rtol=1e-12)
