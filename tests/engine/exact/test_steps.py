"""Steps in closed form against the same steps taken on explicit parameters with autograd, one example at a time."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from engine.basics.options import Options
from engine.exact.steps import accumulated_signal
from engine.question.behaviors import BEHAVIORS, reading
from engine.question.processes import Trajectory
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive

ADD, AUXILIARY = {"kind": "add_occurrence"}, {"kind": "auxiliary"}
STEP = {"kind": "one_step", "eta": 0.3}
PROCESSES = [
    STEP, {"kind": "one_step", "eta": 20.0}, {"kind": "unrolled", "eta": 0.3, "steps": 1},
    {"kind": "unrolled", "eta": 0.3, "steps": 5}, {"kind": "unrolled", "eta": 8.0, "steps": 3},
    {"kind": "trajectory", "eta": 0.3, "checkpoints": 3, "every": 4},
    {"kind": "trajectory", "eta": 1.5, "checkpoints": 1, "every": 2},
]
named = {"ids": lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None}


def stepped(problem, weights, k, eta):
    leaf = weights.clone().requires_grad_(True)
    loss = cross_entropy(problem.x[k:k + 1] @ leaf, problem.y[k:k + 1])
    return weights - eta * torch.autograd.grad(loss, leaf)[0]


def loop(problem, behavior, process, k):
    """B(q; θ^cf) − B(q; θ), (m,), by explicit parameters."""
    value = lambda weights: naive.values(behavior, problem, weights)  # noqa: E731
    if process["kind"] == "trajectory":
        weights, total = torch.zeros_like(problem.weights), 0.0
        for t in range(1, process["checkpoints"] * process["every"] + 1):
            weights = weights - process["eta"] * naive.gradient(weights, problem)
            if t % process["every"] == 0:
                total = total + value(stepped(problem, weights, k, process["eta"])) - value(weights)
        return total
    weights = problem.weights
    for _ in range(process.get("steps", 1)):
        weights = stepped(problem, weights, k, process["eta"])
    return value(weights) - value(problem.weights)


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("process", PROCESSES, **named)
def test_every_behavior_after_explicit_steps(process, intercept):
    problem = naive.problem(candidates=[9, 0, 5], intercept=intercept)
    for scores in compute(problem, [Scoring.of(behavior, ADD, process) for behavior in reading("classes")]):
        expected = np.stack([loop(problem, scores.scoring.readout, process, k) for k in (9, 0, 5)], 1)
        naive.assert_close(scores.values, expected, 1e-10, 1e-13)
        assert scores.converged.all() and (scores.residual == 0).all()


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("behavior", reading("classes"))
def test_the_auxiliary_step_raises_each_querys_own_readout(behavior, intercept):
    """For query q of class y, θ^cf = θ_D + η ∇f_y(x_k): column y of W grows by η x_k."""
    problem, eta = naive.problem(candidates=[2, 8], intercept=intercept), 0.3
    found = compute(problem, Scoring.of(behavior, AUXILIARY, STEP))[0].values
    readout = BEHAVIORS[behavior].value
    for i, (query, label) in enumerate(zip(problem.queries, problem.query_labels, strict=True)):
        for j, k in enumerate((2, 8)):
            leaf = problem.weights.clone().requires_grad_(True)
            loss = -(problem.x[k] @ leaf)[label]
            moved = problem.weights - eta * torch.autograd.grad(loss, leaf)[0]
            expected = readout(query @ moved, label) - readout(query @ problem.weights, label)
            assert found[i, j] == pytest.approx(expected.item(), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("process", PROCESSES[3:6], **named)
def test_columns_follow_the_candidates(process):
    order = [11, 3, 59, 0, 7]
    scoring = Scoring.of("query_loss", ADD, process)
    all_of_them = compute(naive.problem(), scoring)[0]
    some = compute(naive.problem(candidates=order), scoring)[0]
    assert some.candidates.tolist() == order and all_of_them.values.shape == (7, 60)
    np.testing.assert_allclose(some.values, all_of_them.values[:, order], rtol=1e-12, atol=1e-15)


def test_one_example_of_two_classes_by_hand():
    """x_k = 1, θ = 0, y = 0: p = (½, ½), so a step of η moves the logits of x_q = 2 by η (1, −1)."""
    signal = accumulated_signal(torch.zeros(1, 2).double(), torch.tensor([0]), torch.ones(1).double(), 0.5, 1)
    assert signal.tolist() == [[-0.5, 0.5]]
    two = accumulated_signal(torch.zeros(1, 2).double(), torch.tensor([0]), torch.ones(1).double(), 0.5, 2)
    q = 1 / (1 + np.exp(0.5))  # probability of class 1 after the first step: logits (¼, −¼)
    np.testing.assert_allclose(two, [[-0.5 - q, 0.5 + q]], rtol=1e-15)


def test_a_step_on_an_example_helps_itself():
    """The sign: training once more on z_k raises its own log-likelihood."""
    x, y, _, _ = naive.arrays()
    problem = naive.SoftmaxProblem(x, y, x, y, l2=1e-2)
    for process in PROCESSES[:1] + PROCESSES[3:4] + PROCESSES[5:6]:
        values = compute(problem, Scoring.of("query_loss", ADD, process))[0].values
        assert (np.diag(values) > 0).all()


def test_small_steps_approach_the_first_order_and_large_ones_leave_it():
    problem = naive.problem(candidates=range(10))
    errors = []
    for eta in (1e-3, 1e-1, 10.0):
        exact, tangent = (compute(problem, Scoring.of("query_loss", ADD, {**STEP, "eta": eta}, name))[0].values
                          for name in ("exact", "first_order"))
        errors.append(np.abs(exact - tangent).max() / np.abs(exact).max())
    assert errors[0] < 1e-2 and errors[1] > 20 * errors[0] and errors[2] > errors[1]


def test_checkpoints_are_those_of_their_own_process():
    """They are kept between calls, so another η, number or spacing must not get the old ones."""
    problem = naive.problem(candidates=[0, 1])
    for process in (Trajectory(eta=0.3, checkpoints=2, every=3), Trajectory(eta=0.3, checkpoints=2, every=5),
                    Trajectory(eta=0.1, checkpoints=2, every=5), Trajectory(eta=0.1, checkpoints=3, every=5)):
        kept = problem.checkpoints_of(process)
        assert len(kept) == process.checkpoints and problem.checkpoints_of(process) is kept
        weights = torch.zeros_like(problem.weights)
        for _ in range(process.every):
            weights = weights - process.eta * naive.gradient(weights, problem)
        point, eta = kept[0]
        torch.testing.assert_close(point.theta.view_as(weights), weights, rtol=1e-12, atol=1e-14)
        assert eta == process.eta


def test_a_trajectory_can_be_cancelled():
    def stop():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        compute(naive.problem(candidates=[0]), Scoring.of("query_loss", ADD, PROCESSES[5]), Options(check=stop))
