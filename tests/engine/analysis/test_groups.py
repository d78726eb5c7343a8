"""Interventions on groups against brute force: optima by dense Newton, trainings and steps spelt out by hand."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn
from torch.nn.functional import cross_entropy

from engine.analysis.groups import effects, group_effect
from engine.analysis.removal_curve import order_of, removal_curve, sizes_for
from engine.basics.errors import InvalidInput
from engine.exact.group import ROUTES
from engine.models.recipe import Recipe
from engine.models.training import train
from engine.problems import ModuleProblem
from engine.problems.module import Checkpoint
from engine.question.behaviors import BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.problems_for_tests import arrays, optimum, problem
from tests.engine.single_thread import one_thread  # noqa: F401

ROWS = (4, 0, 7)
ADD, REMOVE = {"kind": "add_occurrence"}, {"kind": "remove"}
RECIPE = Recipe(epochs=3, batch_size=6, learning_rate=0.2, momentum=0.5, weight_decay=1e-2)


def network(**options):
    torch.manual_seed(0)
    build = lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))  # noqa: E731
    given = {"recipe": RECIPE, "build": build, "dtype": "float64", "l2": 1e-2, "seed": 2, **options}
    return ModuleProblem(build(), *arrays(n=20), **given)


def differences(asked, logits, before, behavior="query_loss"):
    value = BEHAVIORS[behavior].value
    return (value(logits, asked.query_labels) - value(before, asked.query_labels)).detach().numpy()


@pytest.mark.parametrize("process", [{"kind": "reoptimize"}, {"kind": "retrain", "seeds": 2}])
@pytest.mark.parametrize("intervention", [REMOVE, {**REMOVE, "normalization": "n"}, {"kind": "upweight", "alpha": 0.02},
                                          {"kind": "relabel", "label": 1}])
def test_softmax_regression_is_at_the_optimum_of_the_changed_objective(intervention, process):
    small = problem(n=30)
    n, labels = small.n, [int(small.y[k]) for k in ROWS]
    change = {"extra": [(k, y, -1 / n) for k, y in zip(ROWS, labels, strict=True)]}
    if intervention["kind"] == "upweight":
        change = {"extra": [(k, y, 0.02) for k, y in zip(ROWS, labels, strict=True)]}
    elif intervention["kind"] == "relabel":
        change["extra"] += [(k, 1, 1 / n) for k in ROWS]
    elif "normalization" not in intervention:
        change = {"data_weight": n / (n - 3),
                  "extra": [(k, y, -1 / (n - 3)) for k, y in zip(ROWS, labels, strict=True)]}
    found = group_effect(small, Scoring.of("query_loss", intervention, process), ROWS)
    expected = differences(small, small.queries @ optimum(small, change=change), small.query_logits)
    np.testing.assert_allclose(found.whole, expected, atol=1e-9)
    np.testing.assert_allclose(found.gap, found.whole - found.singles.sum(1), atol=1e-15)
    assert np.abs(found.gap).max() > 1e-6


@pytest.mark.parametrize("process", [{"kind": "one_step", "eta": 0.3}, {"kind": "unrolled", "eta": 0.2, "steps": 3}])
@pytest.mark.parametrize("make", [lambda: problem(n=30), network])
def test_steps_are_taken_on_all_examples_of_the_group(make, process):
    small, rows = make(), torch.tensor(ROWS)
    theta = small.theta.clone()
    for _ in range(process.get("steps", 1)):
        leaf = theta.clone().requires_grad_()
        logits = small.x[rows] @ leaf.view(5, 3) if small.convex else small.network.logits(small.x[rows], leaf)
        theta = theta - process["eta"] * torch.autograd.grad(cross_entropy(logits, small.y[rows], reduction="sum"),
                                                             leaf)[0]
    expected = differences(small, small.outputs(small.queries, theta), small.query_logits, "soft_margin")
    found = group_effect(small, Scoring.of("soft_margin", ADD, process), ROWS)
    np.testing.assert_allclose(found.whole, expected, atol=1e-10)


@pytest.mark.parametrize("intervention", [REMOVE, {"kind": "upweight", "alpha": 0.1}, {"kind": "relabel", "label": 2}])
def test_a_network_is_trained_again_over_seeds(intervention):
    small = network()
    weights, labels = torch.ones(20, dtype=torch.float64), small.y.clone()
    if intervention["kind"] == "relabel":
        labels[list(ROWS)] = intervention["label"]
    else:
        weights[list(ROWS)] = 0.0 if intervention is REMOVE else 1 + 20 * 0.1
    normalization = "n-1" if intervention is REMOVE else "n"
    expected = []
    for seed in (2, 3):
        plain = train(small.build, small.x, small.y, RECIPE, seed).module
        moved = train(small.build, small.x, labels, RECIPE, seed, weights=weights, normalization=normalization).module
        expected.append(differences(small, moved(small.queries), plain(small.queries)))
    asked = Scoring.of("query_loss", intervention, {"kind": "retrain", "seeds": 2})
    np.testing.assert_allclose(group_effect(small, asked, ROWS).whole, np.mean(expected, 0), atol=1e-10)
    np.testing.assert_allclose(group_effect(small, asked, ROWS, singles=False).whole, np.mean(expected, 0), atol=1e-10)


@pytest.mark.parametrize("intervention", [
    REMOVE, {"kind": "relabel", "label": 1}, *(pytest.param(one, marks=pytest.mark.slow) for one in (
        {**REMOVE, "normalization": "n"}, {"kind": "upweight", "alpha": 0.02}, {"kind": "relabel", "label": 2}))])
def test_a_network_is_searched_again_on_the_objective_without_the_group(intervention):
    """Against SciPy on the changed training set; a strong penalty leaves one optimum nearby, and, with the label 1,
    a saddle between it and the optimum without a change."""
    small = network(l2=0.2)
    labels, weights = small.y.clone(), torch.full((20,), 1 / 20, dtype=torch.float64)
    if intervention["kind"] == "relabel":
        labels[list(ROWS)] = intervention["label"]
    elif intervention["kind"] == "upweight":
        weights[list(ROWS)] += 0.02
    else:
        weights[list(ROWS)] = 0.0
        weights *= 20 / 17 if intervention is REMOVE else 1.0

    def objective(flat):
        theta = torch.tensor(flat, requires_grad=True)
        losses = cross_entropy(small.network.logits(small.x, theta), labels, reduction="none")
        total = weights @ losses + 0.1 * theta.square().sum()
        return total.item(), torch.autograd.grad(total, theta)[0].numpy()

    found = minimize(objective, small.theta.numpy(), jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 2000})
    at = torch.autograd.functional.hessian(lambda theta: weights @ cross_entropy(
        small.network.logits(small.x, theta), labels, reduction="none") + 0.1 * theta.square().sum(),
        torch.tensor(found.x))
    assert torch.linalg.eigvalsh(at)[0] > 0
    expected = differences(small, small.outputs(small.queries, torch.tensor(found.x)), small.query_logits)
    for process in ({"kind": "reoptimize"}, {"kind": "local_search", "iterations": 300}):
        asked = group_effect(small, Scoring.of("query_loss", intervention, process), ROWS)
        np.testing.assert_allclose(asked.whole, expected, rtol=1e-5, atol=1e-8)
        assert np.abs(asked.gap).max() > 1e-6


def test_a_group_of_softmax_regression_is_searched_as_it_is_re_optimised():
    small = problem(n=30)
    searched, optimal = (effects(small, Scoring.of("query_loss", REMOVE, process), [torch.tensor(ROWS)])
                         for process in ({"kind": "local_search", "iterations": 500}, {"kind": "reoptimize"}))
    np.testing.assert_allclose(searched, optimal, rtol=1e-4, atol=1e-7)
    with pytest.raises(InvalidInput, match="set the damping to 0"):
        effects(small, Scoring.of("query_loss", REMOVE, {"kind": "reoptimize", "damping": 0.1}), [torch.tensor(ROWS)])


CHANGES = (REMOVE, {**REMOVE, "normalization": "n"}, *({"kind": "upweight", "alpha": alpha} for alpha in (0.03, -0.02)),
           {"kind": "relabel", "label": 1})
FIRST_OR_MEAN = ({"first": 3}, {"seeds": 2}, {"seeds": 2, "first": 1})
OF_ONE = [
    *((ADD, process) for process in (
        {"kind": "one_step", "eta": 0.3}, {"kind": "unrolled", "eta": 0.2, "steps": 3},
        {"kind": "trajectory", "eta": 0.1, "checkpoints": 2, "every": 3})),
    *((change, process) for change in CHANGES for process in (
        {"kind": "reoptimize"}, {"kind": "reoptimize", "baseline": "reoptimized"},
        {"kind": "reoptimize", "damping": 0.1}, {"kind": "local_search", "iterations": 3, "damping": 0.1},
        {"kind": "local_search", "iterations": 4, "baseline": "reoptimized"},
        *({"kind": "retrain", **runs} for runs in FIRST_OR_MEAN))),
    ({"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.1}),
    *(({"kind": "infinitesimal"}, {"kind": "replay", "eta": 0.2, "steps": 4, **runs}) for runs in FIRST_OR_MEAN),
    ({"kind": "infinitesimal_during", "at": 2}, {"kind": "replay", "eta": 0.2, "steps": 4, "first": 2})]


def smooth_network():
    """With a penalty that leaves one optimum nearby, and checkpoints for a trajectory."""
    small = network(l2=0.2)
    small.checkpoints = tuple(Checkpoint(scale * small.theta, rate) for scale, rate in ((0.5, 0.2), (0.9, 0.1)))
    return small


@pytest.mark.parametrize("make", [
    lambda: problem(n=30), pytest.param(smooth_network, marks=pytest.mark.slow)], ids=["softmax", "network"])
def test_a_group_of_one_is_the_single_example(make, one_thread):  # noqa: F811
    """Whatever the process asks for beside its kind: which runs, a baseline, a damping, a number of iterations."""
    small, wrong = make(), []
    for intervention, process in OF_ONE:
        if small.convex and process["kind"] == "reoptimize" and "damping" in process:
            continue  # refused for a group
        asked = Scoring.of("soft_margin", intervention, process)
        found, scored = group_effect(small, asked, [5]), compute(small.with_candidates(torch.tensor([5])), asked)[0]
        assert np.abs(scored.values).max() > 1e-8
        if not np.allclose(found.whole, scored.values[:, 0], rtol=1e-6, atol=1e-9):
            wrong.append(asked.title)
    assert not wrong


def test_every_process_that_has_a_group_form_is_among_those_of_one_example():
    assert set(ROUTES) <= {process["kind"] for _, process in OF_ONE}


def test_a_group_of_another_run_is_not_that_of_the_first():
    small = network()
    own, other = (group_effect(small, Scoring.of("query_loss", REMOVE, {"kind": "retrain", "first": first}), ROWS)
                  for first in (0, 3))
    assert np.abs(own.whole - other.whole).max() > 1e-6 and np.abs(own.singles - other.singles).max() > 1e-6


def test_a_derivative_adds_up():
    small = problem(n=30)
    asked = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
    found = group_effect(small, asked, ROWS)
    assert not found.gap.any() and found.known.all()
    np.testing.assert_allclose(found.singles, compute(small.with_candidates(torch.tensor(ROWS)), asked)[0].values)


@pytest.mark.parametrize(("asked", "rows", "words"), [
    (("query_loss", {"kind": "auxiliary"}, {"kind": "one_step", "eta": 0.1}), ROWS, "use `add_occurrence`"),
    (("query_loss", REMOVE, {"kind": "retrain"}), (1, 1), "names an example twice"),
    (("query_loss", REMOVE, {"kind": "retrain"}), (), "is empty"),
    (("query_loss", REMOVE, {"kind": "retrain"}), (99,), "not one of the 20"),
    (("query_loss", REMOVE, {"kind": "retrain"}), range(20), "contains all 20"),
    (("query_loss", {"kind": "relabel", "label": 9}, {"kind": "retrain"}), ROWS, "no class 9"),
    (("query_loss", ADD, {"kind": "one_step", "eta": 0.1}, "first_order"), ROWS, "use the estimator `exact`")])
def test_what_is_no_question_about_a_group(asked, rows, words):
    with pytest.raises(InvalidInput, match=words):
        group_effect(network(), Scoring.of(*asked), rows)


def test_the_curve_removes_the_top_of_a_ranking_and_random_groups():
    small = problem(n=40, candidates=range(3, 33))
    loo = Scoring.of("query_loss", REMOVE, {"kind": "reoptimize"})
    scores = compute(small, loo)[0]
    own = removal_curve(small, {"leave-one-out": (loo, scores.trusted)}, "query_loss", [2], [1, 4], random=3, seed=5)
    order = np.argsort(-scores.oriented[2])
    assert list(order_of(scores.trusted[[2]])) == list(order)
    retrained = Scoring.of("query_loss", REMOVE, {"kind": "retrain"})
    expected = effects(small, retrained, [small.candidates[order[:size].copy()] for size in (1, 4)])[2]
    np.testing.assert_allclose(own.changes["leave-one-out"], expected, atol=1e-10)
    assert own.changes["leave-one-out"][0] == pytest.approx(scores.values[2, order[0]], abs=1e-8)
    np.testing.assert_allclose(own.promised["leave-one-out"], scores.values[2][order].cumsum()[[0, 3]], atol=1e-12)
    table = own.table()
    assert list(table.removed) == [1, 4] and own.random.shape == (2, 3)
    assert table["random groups"][1] == pytest.approx(own.random[1].mean())
    again = removal_curve(small, {"x": (loo, scores.trusted)}, "query_loss", [2], [1, 4], random=3, seed=5)
    np.testing.assert_array_equal(again.random, own.random)


def test_candidates_without_a_score_come_last_and_sizes_fit():
    assert list(order_of(np.array([[np.nan, 2.0, 3.0], [np.nan, 2.0, np.nan]]))) == [2, 1, 0]
    assert sizes_for(30) == [1, 2, 5, 10] and sizes_for(1) == []
    small = problem(n=20)
    with pytest.raises(InvalidInput, match="from 1 to 19 can be removed"):
        removal_curve(small, {"x": (Scoring.parse({"estimator": "random"}), np.zeros((7, 20)))}, "query_loss",
                      sizes=[20])
