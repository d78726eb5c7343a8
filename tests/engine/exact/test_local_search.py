"""Re-optimised networks: one linear layer against softmax regression's exact optimum, others against SciPy."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from engine.basics.errors import Cancelled, InvalidInput
from engine.basics.options import Options
from engine.exact import local_search as network
from engine.exact import optima, passes
from engine.exact.local_search import Settings
from engine.gradients import chunks
from engine.question.behaviors import BEHAVIORS
from engine.question.change import Change
from engine.question.interventions import Relabel, Remove, Upweight
from engine.question.processes import Reoptimize
from tests.engine.exact import network_cases as cases
from tests.engine.problems_for_tests import assert_close

ALL = [Remove(), Remove(normalization="n"), Relabel(label=1), Relabel(label=2),
       *(Upweight(alpha=alpha) for alpha in (1e-5, 1e-3, 1e-1, 1.0))]
BASELINES = [Reoptimize(), Reoptimize(baseline="reoptimized"), Reoptimize(damping=0.05)]
LONG = Settings(iterations=300, gradient_tolerance=1e-9)
converged = partial(network.local_search, settings=LONG)
titled = {"ids": lambda value: getattr(value, "title", None)}


@pytest.mark.parametrize("process", BASELINES, **titled)
@pytest.mark.parametrize("intervention", ALL, **titled)
def test_one_linear_layer_ends_at_softmax_regression_s_optimum(intervention, process):
    soft, module = cases.pair(n=40, d=4)
    for behavior in BEHAVIORS.values():
        if not behavior.differentiable:
            continue
        found = cases.scores(converged, module, [intervention], process, behavior)
        expected = cases.scores(optima.optima, soft, [intervention], process, behavior)
        assert_close(found, expected, 1e-6, 1e-12)


def objective(problem, k, terms, damping):
    """F_k of a flat float64 vector, spelt out, as (value, gradient) in NumPy."""
    module, names = problem.network.module, problem.network.names

    def evaluate(flat):
        theta = torch.tensor(flat, requires_grad=True)
        values = problem.network.unflatten(theta)
        logits = functional_call(module, values, (problem.x,))
        total = terms.scale * cross_entropy(logits, problem.y)
        for weight, label in terms.losses:
            total = total + weight * cross_entropy(logits[k:k + 1], torch.tensor([label]))
        total = total + 0.5 * problem.l2 * sum(values[name].square().sum() for name in names)
        total = total + 0.5 * damping * (theta - problem.theta).square().sum()
        return total.item(), torch.autograd.grad(total, theta)[0].numpy()

    return evaluate


class Spelt(NamedTuple):
    """The scale of the data loss, and (weight, label) of every loss on x_k beside it."""

    scale: float
    losses: list[tuple[float, int]]


def spelt_out(problem, intervention, k):
    n, y = problem.n, int(problem.y[k])
    return {"upweight": lambda: Spelt(1.0, [(intervention.alpha, y)]),
            "remove": lambda: Spelt(1.0, [(-1 / n, y)]) if intervention.normalization == "n" else Spelt(
                n / (n - 1), [(-1 / (n - 1), y)]),
            "relabel": lambda: Spelt(1.0, [(1 / n, intervention.label), (-1 / n, y)])}[intervention.kind]()


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("intervention", [Remove(), Remove(normalization="n"), Relabel(label=2), Upweight(alpha=0.1)],
                         **titled)
def test_a_damped_network_ends_where_scipy_does(intervention, damping):
    """With a strong penalty the optimum near θ_D is unique, and both routes find it."""
    problem = cases.problem(cases.smooth, (4,), l2=0.2, n=12)
    k, behavior = 3, BEHAVIORS["query_loss"]
    found = converged(problem, [intervention], Reoptimize(damping=damping), torch.tensor([k]), Options())[0]
    reference = minimize(objective(problem, k, spelt_out(problem, intervention, k), damping), problem.theta.numpy(),
                         jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 2000})
    after = behavior.value(passes.query_logits(problem, torch.tensor(reference.x)), problem.query_labels)
    before = behavior.value(problem.query_logits, problem.query_labels)
    assert_close(found.scores(behavior, problem.query_labels)[:, 0], after - before, 1e-5, 1e-8)
    assert found.converged.all() and found.residual.item() < 1e-8


@pytest.mark.parametrize("selection", ["all", "last_layer"])
@pytest.mark.parametrize("intervention", ALL[:5], **titled)
def test_the_reported_norm_and_the_terms_are_those_of_the_objective(intervention, selection):
    problem = cases.problem(parameters=selection)
    found = network.optimum(problem, 4, intervention.change(problem.n), 0.05, Options(), Settings(iterations=3))
    value, gradient = objective(problem, 4, spelt_out(problem, intervention, 4), 0.05)(found.theta.numpy())
    assert found.value == pytest.approx(value, rel=1e-11)
    assert found.gradient_norm == pytest.approx(np.linalg.norm(gradient), rel=1e-9)
    assert found.iterations == 3


def test_every_behavior_reads_the_same_optimum_and_columns_follow_the_candidates():
    problem = cases.problem(cases.smooth, (4,))
    few = partial(network.local_search, settings=Settings(iterations=4))
    everything = few(problem, [Remove(), Upweight(alpha=0.1)], Reoptimize(), problem.candidates, Options())
    some = few(problem, [Upweight(alpha=0.1)], Reoptimize(), torch.tensor([7, 2]), Options())[0]
    for behavior in BEHAVIORS.values():
        torch.testing.assert_close(some.scores(behavior, problem.query_labels),
                                   everything[1].scores(behavior, problem.query_labels)[:, [7, 2]], rtol=0, atol=0)
    torch.testing.assert_close(some.residual, everything[1].residual[[7, 2]], rtol=0, atol=0)
    assert some.work["iterations"] <= 4 < some.work["evaluations"] + 1


def test_the_drift_is_what_the_baseline_takes_away():
    """Away from an optimum, `factual` has the drift in it and `reoptimized` has not."""
    problem, behavior = cases.problem(cases.smooth, (4,)), BEHAVIORS["query_loss"]
    few = partial(network.local_search, settings=Settings(iterations=15))
    own = Relabel(label=int(problem.y[0]))  # an intervention that changes nothing
    drift = cases.scores(few, problem, [own], Reoptimize(), behavior, [0])
    assert np.abs(drift).max() > 1e-2
    assert np.abs(cases.scores(few, problem, [own], Reoptimize(baseline="reoptimized"), behavior, [0])).max() < 1e-12
    raw = cases.scores(few, problem, [Upweight(alpha=0.01)], Reoptimize(), behavior, [1, 2])
    cleaned = cases.scores(few, problem, [Upweight(alpha=0.01)], Reoptimize(baseline="reoptimized"), behavior, [1, 2])
    np.testing.assert_allclose(raw - cleaned, np.repeat(drift, 2, 1), rtol=1e-9, atol=1e-12)


def test_the_baseline_is_kept_for_one_damping_and_one_setting(monkeypatch):
    problem, calls = cases.problem(cases.smooth, (4,)), []
    real = network.optimum

    def spy(problem, row, terms, *rest):
        calls.append(terms)
        return real(problem, row, terms, *rest)

    monkeypatch.setattr(network, "optimum", spy)
    for count in (2, 2, 3):
        network.local_search(problem, [], BASELINES[1], torch.tensor([1]), Options(),
                             settings=Settings(iterations=count))
    assert calls == [Change()] * 2


def test_a_small_force_is_followed_further():
    """At an optimum of L_D, α = 1e-6 moves the gradient by less than the tolerance; the score is not nothing."""
    _, module = cases.pair(n=40, d=4)
    behavior = BEHAVIORS["query_loss"]
    respond = partial(network.local_search, settings=Settings(iterations=200))
    small, large = (cases.scores(respond, module, [Upweight(alpha=alpha)], Reoptimize(), behavior) / alpha
                    for alpha in (1e-6, 1e-4))
    assert_close(small, large, 1e-2)


def test_iterates_that_are_not_finite_are_flagged():
    def loss(logits, labels):
        return cross_entropy(logits, labels, reduction="none") / (labels != 2)

    problem = cases.problem(cases.smooth, (4,), loss=loss)
    problem.y = torch.arange(problem.n) % 2
    found = network.local_search(problem, [Relabel(label=2)], Reoptimize(), torch.tensor([0, 1]), Options())[0]
    assert not found.converged.any()
    fine = network.local_search(problem, [Remove()], Reoptimize(), torch.tensor([0, 1]), Options())[0]
    assert fine.converged.all() and fine.residual.isfinite().all()


def test_single_precision_follows_double():
    double, single = (cases.problem(cases.smooth, (4,), l2=0.2, dtype=dtype) for dtype in ("float64", "float32"))
    behavior = BEHAVIORS["query_loss"]
    respond = partial(network.local_search, settings=Settings(iterations=60))
    expected = cases.scores(respond, double, [Upweight(alpha=0.1)], BASELINES[1], behavior, [1, 2])
    assert_close(cases.scores(respond, single, [Upweight(alpha=0.1)], BASELINES[1], behavior, [1, 2]), expected, 1e-3)


def test_batches_of_training_data_change_nothing(monkeypatch):
    behavior, respond = BEHAVIORS["query_loss"], partial(network.local_search, settings=Settings(iterations=5))
    expected = cases.scores(respond, cases.problem(), [Remove()], Reoptimize(), behavior, [1, 2])
    monkeypatch.setitem(chunks.CEILINGS, "cpu", 3)
    found = cases.scores(respond, cases.problem(), [Remove()], Reoptimize(), behavior, [1, 2])
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-11)


def test_refusals_progress_and_cancelling():
    problem, told = cases.problem(cases.smooth, (4,)), []
    with pytest.raises(InvalidInput, match="no class 3 to relabel to; use 0 to 2"):
        network.local_search(problem, [Relabel(label=3)], Reoptimize(), problem.candidates, Options())
    network.local_search(problem, ALL[:2], Reoptimize(), torch.tensor([1, 2]), Options(progress=told.append),
                       settings=Settings(iterations=1))
    assert told == pytest.approx([0.25, 0.5, 0.75, 1.0])

    def cancel():
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        network.local_search(problem, [Remove()], Reoptimize(), problem.candidates, Options(check=cancel))
