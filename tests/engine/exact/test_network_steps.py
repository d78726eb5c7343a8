"""Steps of a network against softmax regression's closed form, and against torch's own optimiser on a copy."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, linear

from engine.basics.errors import Cancelled, InvalidInput
from engine.basics.options import Options
from engine.exact import passes, steps
from engine.gradients import chunks
from engine.problems.module import Checkpoint
from engine.question.behaviors import BEHAVIORS
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.interventions import AddOccurrence, Auxiliary
from engine.question.processes import OneStep, Trajectory, Unrolled
from engine.scoring.compute import check
from engine.scoring.scoring import Scoring
from tests.engine.exact import network_cases as cases
from tests.engine.problems_for_tests import assert_close

ADD, AUXILIARY = [AddOccurrence()], [Auxiliary()]
PROCESSES = [OneStep(eta=0.3), OneStep(eta=20.0), Unrolled(eta=0.3, steps=5), Unrolled(eta=8.0, steps=3)]
titled = {"ids": lambda value: getattr(value, "title", None)}


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("process", PROCESSES, **titled)
def test_one_linear_layer_steps_as_softmax_regression(process, intercept):
    soft, module = cases.pair(intercept)
    for behavior in CLASS_BEHAVIORS:
        found = cases.scores(steps.unrolled, module, ADD, process, behavior)
        assert_close(found, cases.scores(steps.unrolled, soft, ADD, process, behavior), 1e-10, 1e-13)


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_one_linear_layer_has_the_same_auxiliary_step(intercept):
    soft, module = cases.pair(intercept)
    for behavior in CLASS_BEHAVIORS:
        found = cases.scores(steps.unrolled, module, AUXILIARY, OneStep(eta=0.3), behavior)
        assert_close(found, cases.scores(steps.unrolled, soft, AUXILIARY, OneStep(eta=0.3), behavior), 1e-10, 1e-13)


def test_one_linear_layer_has_the_same_trajectory():
    soft, module = cases.pair()
    process = Trajectory(eta=1.5, checkpoints=3, every=4)
    module.checkpoints = tuple(Checkpoint(point.theta.view_as(soft.weights).T.flatten(), 0.7)
                               for point, _ in soft.checkpoints_of(process))
    for behavior in CLASS_BEHAVIORS:
        found = cases.scores(steps.trajectory, module, ADD, process, behavior)
        assert_close(found, cases.scores(steps.trajectory, soft, ADD, process, behavior), 1e-10, 1e-13)


def moved(problem, k, eta, steps, theta=None, names=None, loss=cross_entropy):
    """A copy of the module after steps of torch's SGD on example k, in evaluation mode."""
    module = copy.deepcopy(problem.network.module)
    parameters = dict(module.named_parameters())
    if theta is not None:
        for name, value in problem.network.unflatten(theta).items():
            parameters[name].data.copy_(value)
    chosen = [parameters[name].requires_grad_(True) for name in names or parameters]
    optimizer = torch.optim.SGD(chosen, lr=eta)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(module(problem.x[k:k + 1]), problem.y[k:k + 1]).backward()
        optimizer.step()
    return module


def values(problem, module, behavior):
    with torch.no_grad():
        return behavior.value(module(problem.queries), problem.query_labels)


@pytest.mark.parametrize("process", [OneStep(eta=0.3), Unrolled(eta=0.1, steps=4)], **titled)
@pytest.mark.parametrize("selection", ["all", "last_layer", r"0\.weight|^5\."])
def test_a_network_against_torch_s_optimiser_on_a_copy(process, selection):
    problem = cases.problem(parameters=selection)
    count = getattr(process, "steps", 1)
    for behavior in CLASS_BEHAVIORS:
        found = cases.scores(steps.unrolled, problem, ADD, process, behavior, [9, 0])
        before = values(problem, problem.network.module, behavior)
        expected = torch.stack([values(problem, moved(problem, k, process.eta, count, names=problem.network.names),
                                       behavior) - before for k in (9, 0)], 1)
        assert_close(found, expected, 1e-10, 1e-13)


def test_a_loss_of_the_users_own():
    def loss(logits, labels):
        return 3.0 * cross_entropy(logits, labels, reduction="none") + logits.square().sum(-1)

    problem, behavior = cases.problem(loss=loss), BEHAVIORS["query_loss"]
    found = cases.scores(steps.unrolled, problem, ADD, OneStep(eta=0.05), behavior, [3])
    after = moved(problem, 3, 0.05, 1, loss=lambda logits, labels: loss(logits, labels).sum())
    assert_close(found[:, 0], values(problem, after, behavior) - values(problem, problem.network.module, behavior),
                 1e-10, 1e-13)


def test_a_trajectory_weighs_each_step_by_its_learning_rate():
    """Of four checkpoints the last three, with η·lr_t / max lr of the whole run."""
    problem, eta = cases.problem(), 0.4
    torch.manual_seed(1)
    problem.checkpoints = tuple(Checkpoint(problem.theta + 0.1 * torch.randn_like(problem.theta), rate)
                                for rate in (0.5, 0.25, 0.1, 0.05))
    process = Trajectory(eta=eta, checkpoints=3)
    for behavior in CLASS_BEHAVIORS:
        found = cases.scores(steps.trajectory, problem, ADD, process, behavior, [2, 7])
        expected = 0.0
        for point, rate in zip(problem.checkpoints[1:], (0.2, 0.08, 0.04), strict=True):
            before = values(problem, moved(problem, 0, 0.0, 0, point.theta), behavior)
            after = [values(problem, moved(problem, k, rate, 1, point.theta), behavior) for k in (2, 7)]
            expected = expected + torch.stack(after, 1) - before[:, None]
        assert_close(found, expected, 1e-10, 1e-13)


@pytest.mark.parametrize("bias", [True, False])
def test_the_auxiliary_step_moves_the_last_layer_along_the_representation(bias):
    """Row y of the last layer is moved by autograd on −f_y(x_k), φ held fixed, one (query, candidate) pair a time."""
    def build():
        return nn.Sequential(nn.Flatten(), nn.Linear(72, 5), nn.ReLU(), nn.Linear(5, 3, bias=bias))

    problem, eta = cases.problem(build), 0.3
    body, head = problem.network.module[:-1], problem.network.module[-1]
    for behavior in (BEHAVIORS["query_logit"], BEHAVIORS["hard_margin"]):
        found = cases.scores(steps.unrolled, problem, AUXILIARY, OneStep(eta=eta), behavior, [4, 11])
        for j, k in enumerate((4, 11)):
            for i, (query, label) in enumerate(zip(problem.queries, problem.query_labels, strict=True)):
                w, b = head.weight.clone().requires_grad_(True), torch.zeros(3).double()
                b = (head.bias.clone() if bias else b).requires_grad_(True)
                (-linear(body(problem.x[k:k + 1]), w, b)[0, label]).backward()
                after = linear(body(query[None]), w - eta * w.grad, b - eta * b.grad if bias else None)[0]
                expected = behavior.value(after, label) - behavior.value(problem.query_logits[i], label)
                assert found[i, j] == pytest.approx(expected.item(), rel=1e-10, abs=1e-12)


def test_the_auxiliary_step_needs_a_linear_readout():
    convolved = cases.problem(lambda: nn.Sequential(nn.Conv2d(2, 3, 6), nn.Flatten()))
    with pytest.raises(InvalidInput, match="does not end in a linear layer"):
        steps.unrolled(convolved, AUXILIARY, OneStep(eta=0.1), convolved.candidates, Options())
    for build in (lambda: nn.Sequential(nn.Flatten(), nn.Linear(72, 3), nn.Tanh()),
                  lambda: nn.Sequential(nn.Flatten(), nn.Linear(72, 6), nn.Unflatten(1, (3, 2)), nn.AvgPool1d(2),
                                        nn.Flatten())):
        problem = cases.problem(build)
        with pytest.raises(InvalidInput, match="not the output of the model's last linear layer.*`add_occurrence`"):
            steps.unrolled(problem, AUXILIARY, OneStep(eta=0.1), problem.candidates, Options())


def test_too_few_checkpoints():
    problem = cases.problem(checkpoints=())
    with pytest.raises(InvalidInput, match="needs 5 checkpoints, but the problem has 0; train with more"):
        steps.trajectory(problem, ADD, Trajectory(eta=0.1), problem.candidates, Options())
    with pytest.raises(InvalidInput, match="needs 5 checkpoints"):
        check(problem, Scoring.of("query_loss", ADD[0], Trajectory(eta=0.1), "first_order"))


def test_batches_of_queries_change_nothing(monkeypatch):
    problem, behavior = cases.problem(queries=7), BEHAVIORS["query_loss"]
    expected = cases.scores(steps.unrolled, problem, ADD, Unrolled(eta=0.2, steps=2), behavior)
    monkeypatch.setitem(chunks.CEILINGS, "cpu", 3)
    fresh = cases.problem(queries=7)
    found = cases.scores(steps.unrolled, fresh, ADD, Unrolled(eta=0.2, steps=2), behavior)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-14)


def test_columns_follow_the_candidates_and_both_interventions_are_answered():
    problem, behavior = cases.problem(), BEHAVIORS["query_loss"]
    everything = cases.scores(steps.unrolled, problem, ADD, OneStep(eta=0.2), behavior)
    some = cases.scores(steps.unrolled, problem, ADD, OneStep(eta=0.2), behavior, [11, 3, 0])
    np.testing.assert_array_equal(some, everything[:, [11, 3, 0]])
    responses = steps.unrolled(problem, [Auxiliary(), AddOccurrence()], OneStep(eta=0.2), problem.candidates,
                                       Options())
    np.testing.assert_array_equal(responses[1].scores(behavior, problem.query_labels), everything)
    assert not np.allclose(responses[0].scores(behavior, problem.query_labels), everything)
    assert all(r.converged.all() and (r.residual == 0).all() and len(r.residual) == 14 for r in responses)


def test_a_step_of_no_size_changes_nothing_in_single_precision():
    """Nothing moves, so that nothing is left of rounding, and no doubt either."""
    problem = cases.problem(dtype="float32")
    part = steps.stepped(problem, problem.candidates, 0.0, 1, problem.theta, Options())
    assert not part.change.any() and not part.noise.any()
    torch.testing.assert_close(part.baseline, problem.query_logits)


def test_progress_and_cancelling():
    problem, told = cases.problem(), []
    problem.checkpoints = tuple(Checkpoint(problem.theta, 0.1) for _ in range(2))
    steps.trajectory(problem, ADD, Trajectory(eta=0.1, checkpoints=2), torch.tensor([1, 2]),
                             Options(progress=told.append))
    assert told == pytest.approx([0.25, 0.5, 0.75, 1.0])

    def cancel():
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        steps.unrolled(problem, ADD, OneStep(eta=0.1), problem.candidates, Options(check=cancel))


def test_training_loss_is_that_of_the_problem():
    problem = cases.problem()
    value, gradient = passes.training_loss(problem, problem.theta, Options())
    total, slope = problem.factual
    assert value + 0.5 * problem.l2 * problem.theta.square().sum().item() == pytest.approx(total, rel=1e-12)
    torch.testing.assert_close(gradient + problem.l2 * problem.theta, slope, rtol=1e-11, atol=1e-14)


def test_where_memory_runs_out_smaller_chunks_give_the_same():
    def loss(logits, labels):
        if len(labels) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return cross_entropy(logits, labels, reduction="none")

    plain, scarce = cases.problem(), cases.problem(loss=loss)
    value, gradient = passes.training_loss(plain, plain.theta, Options())
    with pytest.warns(RuntimeWarning, match="Out of memory: gradients continue with 7 examples at a time"):
        found, slope = passes.training_loss(scarce, scarce.theta, Options())
    assert found == pytest.approx(value, rel=1e-12)
    torch.testing.assert_close(slope, gradient, rtol=1e-10, atol=1e-13)


def test_a_module_that_reads_by_view_is_answered_too():
    class Viewing(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution, self.head = nn.Conv2d(2, 3, 3), nn.Linear(48, 3)

        def forward(self, x):
            return self.head(self.convolution(x).view(len(x), -1))

    problem, behavior = cases.problem(Viewing), BEHAVIORS["query_loss"]
    found = cases.scores(steps.unrolled, problem, ADD, OneStep(eta=0.3), behavior, [9])[:, 0]
    before = values(problem, problem.network.module, behavior)
    assert_close(found, values(problem, moved(problem, 9, 0.3, 1), behavior) - before, 1e-10, 1e-13)
