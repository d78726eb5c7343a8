"""The first-order term of a step against forward-mode derivatives along the explicit step."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive

ADD = {"kind": "add_occurrence"}
CANDIDATES = [9, 0, 5]
PROCESSES = [{"kind": "one_step", "eta": 0.3}, {"kind": "unrolled", "eta": 0.3, "steps": 5},
             {"kind": "trajectory", "eta": 0.3, "checkpoints": 3, "every": 4}]
DIFFERENTIABLE = [behavior.name for behavior in CLASS_BEHAVIORS if behavior.differentiable]


def tangent(problem, behavior, weights, k, eta):
    """dB(q; W − t·η∇ℓ(z_k))/dt at t = 0, (m,)."""
    leaf = weights.clone().requires_grad_(True)
    slope = torch.autograd.grad(cross_entropy(problem.x[k:k + 1] @ leaf, problem.y[k:k + 1]), leaf)[0]
    return torch.func.jvp(lambda w: naive.values(behavior, problem, w), (weights,), (-eta * slope,))[1]


def loop(problem, behavior, process, k):
    if process["kind"] != "trajectory":
        return tangent(problem, behavior, problem.weights, k, process["eta"] * process.get("steps", 1))
    weights, total = torch.zeros_like(problem.weights), 0.0
    for t in range(1, process["checkpoints"] * process["every"] + 1):
        weights = weights - process["eta"] * naive.gradient(weights, problem)
        if t % process["every"] == 0:
            total = total + tangent(problem, behavior, weights, k, process["eta"])
    return total


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("process", PROCESSES, ids=lambda value: value["kind"])
def test_every_behavior_along_the_explicit_step(process, intercept):
    problem = naive.problem(candidates=CANDIDATES, intercept=intercept)
    for scores in compute(problem, [Scoring.of(name, ADD, process, "first_order") for name in DIFFERENTIABLE]):
        expected = np.stack([loop(problem, scores.scoring.readout, process, k) for k in CANDIDATES], 1)
        naive.assert_close(scores.values, expected, 1e-10)
        assert scores.converged.all() and not scores.scoring.exact


def test_the_query_logit_is_linear_so_one_step_is_exact():
    """And several steps are not, because the later gradients differ."""
    problem = naive.problem(candidates=CANDIDATES)
    for process, equal in ((PROCESSES[0], True), ({"kind": "one_step", "eta": 20.0}, True), (PROCESSES[1], False)):
        exact, first = (compute(problem, Scoring.of("query_logit", ADD, process, name))[0].values
                        for name in ("exact", "first_order"))
        assert np.allclose(exact, first, rtol=1e-11, atol=1e-14) == equal


def test_it_is_proportional_to_the_step():
    problem = naive.problem(candidates=CANDIDATES)
    scorings = [Scoring.of("query_loss", ADD, {"kind": "one_step", "eta": eta}, "first_order") for eta in (0.1, 1.0)]
    one, ten = (scores.values for scores in compute(problem, scorings))
    naive.assert_close(ten, 10 * one, 1e-13)


def test_the_error_falls_with_the_square_of_the_step():
    problem = naive.problem(candidates=CANDIDATES)
    gaps = []
    for eta in (2e-3, 1e-3):
        step = {"kind": "one_step", "eta": eta}
        exact, first = (compute(problem, Scoring.of("query_loss", ADD, step, name))[0].values
                        for name in ("exact", "first_order"))
        gaps.append(np.abs(exact - first).max())
    assert 3.5 < gaps[0] / gaps[1] < 4.5
