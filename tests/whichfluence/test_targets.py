"""A network trained on targets, by a loss of the user's own: regression, several labels an example, one output."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

import whichfluence as wf
from engine.models.recipe import Recipe
from engine.question.behaviors import BEHAVIORS

STEP = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1))
FIRST = STEP.by("first_order")
RESPONSE = wf.Specification("query_loss", wf.Infinitesimal(), wf.LocalResponse(damping=0.5))


def squared(outputs, targets):
    return (outputs - targets).square().sum(1)


def several(outputs, targets):
    return binary_cross_entropy_with_logits(outputs, targets.to(outputs.dtype), reduction="none").sum(1)


def of_one(outputs, targets):
    return binary_cross_entropy_with_logits(outputs[:, 0], targets.to(outputs.dtype), reduction="none")


@pytest.fixture
def data():
    torch.manual_seed(0)
    return torch.randn(12, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)


def network(outputs):
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, outputs)).double()


@pytest.mark.parametrize(("loss", "targets", "outputs"), [
    (squared, lambda n: torch.randn(n, 2), 2), (squared, lambda n: torch.randn(n, 1), 1),
    (several, lambda n: torch.arange(3 * n).view(n, 3) % 2, 3), (several, lambda n: torch.rand(n, 3) > 0.5, 3),
    (of_one, lambda n: torch.arange(n) % 2, 1)], ids=["two numbers", "one number", "labels", "booleans", "one logit"])
def test_answers_are_those_of_plain_torch(data, loss, targets, outputs):
    x, queries = data
    t, of_queries, module = targets(12), targets(3), network(outputs)
    problem = wf.problem(module, (x, t), (queries, of_queries), loss=loss, l2=0.1, candidates=range(5),
                         dtype="float64")
    named = dict(module.named_parameters())
    theta = torch.cat([value.detach().flatten() for value in named.values()])

    def total(flat, inputs, wanted):
        parts = flat.split([value.numel() for value in named.values()])
        values = {name: part.view_as(named[name]) for name, part in zip(named, parts, strict=True)}
        return loss(functional_call(module, values, (inputs,)), wanted)

    def slopes(inputs, wanted):
        return torch.autograd.functional.jacobian(lambda flat: total(flat, inputs, wanted), theta)

    of_candidates, asked = slopes(x[:5], t[:5]), slopes(queries, of_queries)
    assert wf.influence(problem, FIRST).values == pytest.approx((0.1 * asked @ of_candidates.T).numpy(), rel=1e-9)
    stepped = torch.stack([total(theta, queries, of_queries) - total(theta - 0.1 * one, queries, of_queries)
                           for one in of_candidates], 1)
    assert wf.influence(problem, STEP).values == pytest.approx(stepped.detach().numpy(), rel=1e-9)
    hessian = torch.autograd.functional.hessian(
        lambda flat: total(flat, x, t).mean() + 0.05 * flat.square().sum(), theta) + 0.5 * torch.eye(len(theta))
    responses = asked @ torch.linalg.solve(hessian, of_candidates.T)
    assert wf.influence(problem, RESPONSE).values == pytest.approx(responses.numpy(), rel=1e-8)


@pytest.mark.parametrize("question", [
    STEP, FIRST, RESPONSE, RESPONSE.by("cg"), RESPONSE.by("cg_gauss_newton"), STEP.by("representer"),
    wf.Specification("query_loss", wf.Upweight(alpha=0.1), wf.Reoptimize()),
    wf.Specification("query_loss", wf.Remove(), wf.Retrain(seeds=2)),
    wf.Specification("query_loss", wf.Infinitesimal(), wf.Replay()),
    wf.Specification("query_loss", wf.AddOccurrence(), wf.Trajectory(eta=1.0, checkpoints=2)).by("first_order")],
    ids=str)
def test_classes_given_as_targets_have_the_answers_of_classes(data, question):
    x, queries = data
    y, module = torch.arange(12) % 3, network(3)
    recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.1)

    def found(labels, of_queries, **loss):
        points = [({name: value * scale for name, value in module.state_dict().items()}, 0.1) for scale in (0.5, 0.9)]
        return wf.influence(wf.problem(module, (x, labels), (queries, of_queries), candidates=range(4), l2=0.1,
                                       dtype="float64", recipe=recipe, build=lambda: network(3), checkpoints=points,
                                       **loss), question).values

    given = found(y[:, None], y[:3, None], loss=lambda logits, targets: cross_entropy(logits, targets[:, 0],
                                                                                       reduction="none"))
    assert given == pytest.approx(found(y, y[:3]), rel=1e-5)


@pytest.fixture
def first_output():
    """A behavior of outputs and targets by its name, registered for one test."""
    wf.register_behavior("first output", lambda outputs, targets: outputs[..., 0] - targets.reshape(
        *outputs.shape[:-1], -1)[..., 0])
    yield "first output"
    BEHAVIORS.remove("first output")


def test_behaviors_read_outputs_and_targets_and_no_classes(data, first_output):
    x, queries = data
    module, t = network(2), torch.randn(12, 2)
    problem = wf.problem(module, (x, t), (queries, t[:3]), loss=squared, dtype="float64")
    read = wf.influence(problem, wf.Specification(first_output, wf.AddOccurrence(), wf.OneStep(eta=0.1))).values
    moved = [value.clone() for value in module.parameters()]
    slopes = torch.autograd.grad(squared(module(x[:1]), t[:1]).sum(), list(module.parameters()))
    before = module(queries)[:, 0].detach()
    with torch.no_grad():
        for value, slope in zip(module.parameters(), slopes, strict=True):
            value.sub_(0.1 * slope)
        after = module(queries)[:, 0]
        for value, old in zip(module.parameters(), moved, strict=True):
            value.copy_(old)
    assert read[:, 0] == pytest.approx((after - before).numpy(), rel=1e-9)
    with pytest.raises(wf.InvalidInput, match="`soft_margin` is read off class logits"):
        wf.influence(problem, wf.Specification("soft_margin", wf.AddOccurrence(), wf.OneStep(eta=0.1)))
    with pytest.raises(wf.InvalidInput, match="label-free loss"):
        wf.influence(problem, wf.Specification("query_loss", wf.Auxiliary(), wf.OneStep(eta=0.1)))
    with pytest.raises(wf.InvalidInput, match="no class to relabel to"):
        wf.influence(problem, wf.Specification("query_loss", wf.Relabel(label=0), wf.Reoptimize()))
    with pytest.raises(wf.InvalidInput, match="an analysis of classifiers"):
        wf.analyse(problem, "embedding")


def test_new_candidates_and_streams_have_targets_too(data):
    x, queries = data
    module, t = network(2), torch.randn(12, 2, dtype=torch.float64)
    rest = {"loss": squared, "dtype": "float64"}
    whole = wf.influence(wf.problem(module, (x, t), (queries, t[:3]), **rest), FIRST).values
    new = wf.problem(module, (x[:8], t[:8]), (queries, t[:3]), new_candidates=(x[8:], t[8:]), candidates=[1], **rest)
    assert wf.influence(new, FIRST).values == pytest.approx(whole[:, [1, 8, 9, 10, 11]], rel=1e-9)
    base = wf.problem(module, (x[:4], t[:4]), (queries, t[:3]), **rest)
    best = wf.stream(base, ((x[k:k + 5], t[k:k + 5]) for k in range(0, 12, 5)), FIRST, k=1).to_frame()
    assert best[best["query"] == 0]["score"].max() == pytest.approx(whole[0].max(), rel=1e-9)
    with pytest.raises(wf.InvalidInput, match="targets of shape"):
        wf.problem(module, (x, t), (queries, t[:3]), new_candidates=(x, np.zeros((12, 3))), **rest)


@pytest.mark.parametrize(("loss", "said"), [
    (lambda outputs, targets: (outputs - targets).square().mean(), r"returns shape \(\) for 2 examples"),
    (lambda outputs, targets: (outputs - targets).square(), r"returns shape \(2, 2\)"),
    (lambda outputs, targets: (outputs - targets).square().sum(1) / len(outputs), "depends on the others"),
    (lambda outputs, targets: outputs @ targets, "fails on outputs of shape")])
def test_a_loss_that_is_not_one_number_an_example_is_refused(data, loss, said):
    x, queries = data
    with pytest.raises(wf.InvalidInput, match=said):
        wf.problem(network(2), (x, torch.randn(12, 2)), (queries, torch.randn(3, 2)), loss=loss)


def test_a_recorded_training_on_targets_replays(data, tmp_path):
    torch.manual_seed(1)
    x, t, module = torch.randn(12, 4), torch.randn(12, 2), network(2).float()
    start = {name: value.clone() for name, value in module.state_dict().items()}
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    batches = [torch.randperm(12) for _ in range(3)]
    with wf.Recorder(tmp_path / "run", module, optimizer) as recorder:
        for order in batches:
            for rows in order.split(4):
                recorder.batch(x[rows], t[rows])
                optimizer.zero_grad()
                squared(module(x[rows]), t[rows]).mean().backward()
                optimizer.step()

    def ended(weights):
        """−loss at the queries after the same steps, the losses of the examples weighted."""
        again = network(2)
        again.load_state_dict({name: value.double() for name, value in start.items()})
        values = dict(again.named_parameters())
        for order in batches:
            for rows in order.split(4):
                each = squared(functional_call(again, values, (x[rows].double(),)), t[rows].double())
                slopes = torch.autograd.grad((weights[rows] * each).sum() / 4, list(values.values()), create_graph=True)
                values = {name: value - 0.1 * slope
                          for (name, value), slope in zip(values.items(), slopes, strict=True)}
        return -squared(functional_call(again, values, (x[:3].double(),)), t[:3].double())

    right = torch.autograd.functional.jacobian(ended, torch.ones(12, dtype=torch.float64))
    problem = wf.problem(lambda: network(2).float(), (x, t), (x[:3], t[:3]), loss=squared, recording=tmp_path / "run")
    found = wf.influence(problem, wf.Specification("query_loss", wf.Infinitesimal(), wf.Replay()))
    assert found.values == pytest.approx(12 * right.numpy(), rel=1e-3, abs=1e-4)  # α = weight / n
