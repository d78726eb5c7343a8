"""Steps, trajectories and retraining: every process, behavior and model against a loop in float64."""

import numpy as np
import pytest
import torch

from tests.truth import cases, checks
from tests.truth.checks import same
from tests.truth.naive import BEHAVIORS, SMOOTH, Naive

ADD, ETA = {"kind": "add_occurrence"}, 0.1
PROCESSES = {"one_step": {"kind": "one_step", "eta": ETA}, "unrolled": {"kind": "unrolled", "eta": ETA, "steps": 3},
             "trajectory": {"kind": "trajectory", "eta": ETA, "checkpoints": 2}}
INTERVENTIONS = {"remove": {"kind": "remove"}, "remove over n": {"kind": "remove", "normalization": "n"},
                 "upweight": {"kind": "upweight", "alpha": 0.05}, "relabel": {"kind": "relabel", "label": 1}}

pytestmark = [pytest.mark.parametrize("model", cases.LISTED), pytest.mark.parametrize("precision", cases.PRECISIONS)]


@pytest.fixture
def case(model, precision):
    problem = cases.problem(model, precision)
    return problem, Naive(problem)


def scored(problem, intervention, process, estimator="exact", behaviors=BEHAVIORS):
    return checks.scored(problem, intervention, process, estimator, behaviors)


@pytest.mark.parametrize("kind", PROCESSES)
def test_finite_steps(case, kind):
    problem, naive = case
    points = {"one_step": [(naive.theta, ETA, 1)], "unrolled": [(naive.theta, ETA, 3)],
              "trajectory": [(point.theta.double(), ETA * point.learning_rate / 0.2, 1)
                             for point in problem.checkpoints]}[kind]
    for name, scores in scored(problem, ADD, PROCESSES[kind]).items():
        same(scores, sum(naive.differences(name, [naive.steps(k, eta, count, theta) for k in naive.candidates], theta)
                         for theta, eta, count in points))


def test_first_order_terms(case, precision):
    problem, naive = case
    directions = [-ETA * naive.gradient(lambda at, k=k: naive.loss(k, at)) for k in naive.candidates]
    tolerance = 1e-9 if precision == "float64" else 1e-4
    for name, scores in scored(problem, ADD, PROCESSES["one_step"], "first_order", SMOOTH).items():
        expected = naive.directional(name, directions)
        np.testing.assert_allclose(scores.values, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", INTERVENTIONS)
def test_retraining(case, name):
    problem, naive = case
    build, recipe, seed = problem.build, problem.recipe, problem.seed

    def trained(k):
        if name == "relabel":
            return naive.trained(build, recipe, seed, labels=[1 if j == k else y for j, y in enumerate(naive.y)])
        weight = 1.0 + naive.n * 0.05 if name == "upweight" else 0.0
        return naive.trained(build, recipe, seed, [weight if j == k else 1.0 for j in range(naive.n)],
                             over="all" if name == "remove over n" else None)

    plain, moved = naive.trained(build, recipe, seed), [trained(k) for k in naive.candidates]
    for behavior, scores in scored(problem, INTERVENTIONS[name], {"kind": "retrain", "seeds": 1}).items():
        same(scores, naive.differences(behavior, moved, plain))


def test_similarities(case, precision):
    """The cosine of gradients, and the tangent kernel of the query's own class."""
    problem, naive = case
    gradients = [naive.gradient(lambda at, k=k: naive.loss(k, at)) for k in naive.candidates]
    tolerance = 1e-8 if precision == "float64" else 1e-3
    for name, scores in scored(problem, ADD, PROCESSES["one_step"], "cosine", SMOOTH).items():
        slopes = torch.stack([naive.gradient(lambda at, q=q: naive.behavior(name, q, at))  # noqa: B023
                              for q in range(len(naive.labels))])
        cosine = torch.nn.functional.cosine_similarity(slopes[:, None], torch.stack(gradients)[None], dim=-1)
        np.testing.assert_allclose(scores.values, -ETA * cosine.numpy(), rtol=0, atol=tolerance)
    kernel = scored(problem, {"kind": "auxiliary"}, PROCESSES["one_step"], "ntk", ["query_logit"])["query_logit"]
    expected = np.array([[(naive.jacobian(naive.queries[q])[y] @ naive.jacobian(naive.x[k])[y]).item()
                          for k in naive.candidates] for q, y in enumerate(naive.labels)])
    np.testing.assert_allclose(kernel.values, ETA * expected, rtol=0, atol=tolerance * np.abs(expected).max())
