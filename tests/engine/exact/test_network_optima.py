"""Networks re-optimised to an optimum: against a dense Newton method, and flagged where there is none."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

from engine.basics.errors import Cancelled, InvalidInput
from engine.basics.options import Options
from engine.exact import network_optima, optima
from engine.exact.local_search import local_search
from engine.exact.network_optima import network_optima as respond
from engine.exact.passes import query_logits
from engine.metrics.agreement import kendall_tau
from engine.problems.module import ModuleProblem
from engine.question.behaviors import BEHAVIORS
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.interventions import Relabel, Remove, Upweight
from engine.question.processes import LocalSearch, Reoptimize
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.exact import network_cases as cases
from tests.engine.exact import spelt_out as spelt
from tests.engine.exact.spelt_out import Spelt, newton, objective, tensor_objective
from tests.engine.problems_for_tests import assert_close

LOSS = BEHAVIORS["query_loss"]
ALL = [Remove(), Remove(normalization="n"), Relabel(label=1), Relabel(label=2),
       *(Upweight(alpha=alpha) for alpha in (1e-5, 1e-3, 1e-1, 1.0))]
LASTING = [20, 30, 40]
"""Candidates along whose way to the label 1 there is a strict minimum everywhere; for others the Newton method, which
follows a branch, has none to follow."""
PROCESSES = [Reoptimize(), Reoptimize(baseline="reoptimized"), Reoptimize(damping=0.05)]
titled = {"ids": lambda value: getattr(value, "title", None)}


def tanh():
    """48 parameters: (b, 5) -> (b, 3)."""
    return nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 3))


def moved_to(problem, theta, **options):
    """The problem with other weights."""
    module = problem.network.module
    module.load_state_dict({**module.state_dict(), **problem.network.unflatten(theta)})
    return ModuleProblem(module, *problem.examples, **{"l2": problem.l2, "dtype": "float64", **options})


@pytest.fixture(scope="module")
def start():
    """A tanh network of 48 parameters where training might have stopped: near no optimum."""
    torch.manual_seed(0)
    x = torch.randn(66, 5, dtype=torch.float64)
    y = (x @ torch.randn(5, 3).double() + 0.7 * torch.randn(66, 3)).argmax(1)
    return ModuleProblem(tanh(), x[:60], y[:60], x[60:], y[60:], range(0, 60, 10), l2=0.01, dtype="float64")


@pytest.fixture(scope="module")
def trained(start):
    """The same network at a strict minimum."""
    whole = objective(start, 0, Spelt(1.0, []))
    near = minimize(whole, start.theta.numpy(), jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    theta = newton(tensor_objective(start, 0, Spelt(1.0, [])), torch.tensor(near.x))
    assert len(theta) == 48
    return moved_to(start, theta)


def followed(problem, intervention, theta, damping=0.0):
    """θ_k (P,) of every candidate, by dense Newton steps from θ."""
    return [spelt.followed(problem, k, spelt.spelt_out(problem, intervention, k), theta, damping)
            for k in problem.candidates.tolist()]


def scored(problem, thetas, before):
    """(m, k): query losses at the models θ_k less those at another one."""
    read = [LOSS.value(query_logits(problem, theta), problem.query_labels) for theta in (*thetas, before)]
    return torch.stack(read[:-1], 1) - read[-1][:, None]


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("intervention", [
    pytest.param(Remove(), marks=pytest.mark.slow), pytest.param(Upweight(alpha=0.05), marks=pytest.mark.slow),
    Relabel(label=1)], **titled)
def test_every_candidate_ends_at_the_optimum_of_a_dense_newton_method(intervention, dtype, trained):
    chosen = LASTING if intervention.kind == "relabel" else trained.candidates
    problem = moved_to(trained.with_candidates(chosen), trained.theta, dtype=dtype)
    double = problem.double()
    expected = scored(double, followed(double, intervention, double.theta), double.theta)
    found = respond(problem, [intervention], Reoptimize(), problem.candidates, Options())[0]
    scores = found.scores(LOSS, problem.query_labels)
    assert found.converged.all() and found.residual.max() <= 1e-10
    assert_close(scores, expected, 1e-6)
    assert np.allclose(kendall_tau(scores.numpy(), expected.numpy()), 1.0)


def test_twenty_iterations_end_elsewhere_and_say_so(trained):
    exact, searched = (route(trained, [Remove()], process, trained.candidates, Options())[0]
                       for route, process in ((respond, Reoptimize()), (local_search, LocalSearch(iterations=20))))
    exact_scores, scores = (found.scores(LOSS, trained.query_labels).numpy() for found in (exact, searched))
    assert kendall_tau(scores, exact_scores).mean() < 0.99
    assert searched.residual.median() > 1e4 * exact.residual.max()


@pytest.mark.parametrize("alpha", [1e-6, -1e-6])
def test_a_tiny_weight_is_the_linear_response(alpha, trained):
    finite = respond(trained, [Upweight(alpha=alpha)], Reoptimize(), trained.candidates, Options())[0]
    linear = compute(trained, Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"}))[0]
    assert finite.converged.all()
    assert_close(finite.scores(LOSS, trained.query_labels) / alpha, linear.values, 1e-4)


@pytest.mark.parametrize("process", PROCESSES, **titled)
def test_away_from_an_optimum_candidates_start_where_re_optimising_without_a_change_ends(process, start):
    intervention, k = Upweight(alpha=0.01), 3
    problem = start.with_candidates([k])
    found = respond(problem, [intervention], process, problem.candidates, Options())[0]
    origin = network_optima.origin_of(network_optima.ModuleFamily(problem, process.damping, Options()))
    unchanged = tensor_objective(problem, 0, Spelt(1.0, []), process.damping)
    optimum = newton(unchanged, origin.minimum.theta)
    assert_close(origin.minimum.theta, optimum, 1e-9)
    assert unchanged(optimum) < unchanged(problem.theta) - 1e-3
    before = problem.theta if process.baseline == "factual" else optimum
    expected = scored(problem, followed(problem, intervention, optimum, process.damping), before)
    assert found.converged.all()
    assert_close(found.scores(LOSS, problem.query_labels), expected, 1e-6)


def test_the_baselines_differ_by_one_number_a_query(start):
    raw, cleaned = (respond(start, [Remove()], Reoptimize(baseline=baseline), torch.tensor([1, 2, 5]), Options())[0]
                    .scores(LOSS, start.query_labels) for baseline in ("factual", "reoptimized"))
    drift = raw - cleaned
    assert drift.abs().max() > 1e-2
    assert_close(drift, drift[:, :1].expand(-1, 3), 1e-9)
    own = Relabel(label=int(start.y[0]))  # changes nothing
    nothing = respond(start, [own], Reoptimize(baseline="reoptimized"), torch.tensor([0]), Options())[0]
    assert nothing.converged.all() and nothing.scores(LOSS, start.query_labels).abs().max() < 1e-12


@pytest.mark.parametrize("process", PROCESSES, **titled)
@pytest.mark.parametrize("intervention", ALL, **titled)
def test_one_linear_layer_ends_at_softmax_regression_s_optimum(intervention, process):
    soft, module = cases.pair(n=40, d=4)
    for behavior in CLASS_BEHAVIORS:
        if behavior.differentiable:
            found = cases.scores(respond, module, [intervention], process, behavior)
            expected = cases.scores(optima.optima, soft, [intervention], process, behavior)
            assert_close(found, expected, 1e-6, 1e-12)


def test_without_an_optimum_everything_is_flagged():
    """A network that fits its data, without a penalty: the loss falls forever."""
    torch.manual_seed(0)
    x = torch.cat([torch.randn(6, 5), torch.randn(6, 5) + 8.0, torch.randn(6, 5) - 8.0])
    y = torch.arange(3).repeat_interleave(6)
    problem = ModuleProblem(tanh(), x, y, x[::3], y[::3], range(4), dtype="float64")
    found = respond(problem, [Remove()], Reoptimize(), problem.candidates, Options())[0]
    assert not found.converged.any() and found.residual.isfinite().all()


def test_too_few_passes_are_flagged_with_the_gradient_norm(start, monkeypatch):
    monkeypatch.setattr(network_optima, "ORIGIN_PASSES", 5)
    monkeypatch.setattr(network_optima, "HOPELESS_PASSES", 5)
    fresh = moved_to(start, start.theta)
    found = respond(fresh, [Remove()], Reoptimize(), torch.tensor([2]), Options())[0]
    assert not found.converged.any() and found.residual.min() > 1e-6


def test_the_search_without_intervention_is_made_once_for_a_damping(monkeypatch):
    problem, made, real = cases.problem(tanh, (5,), n=12, l2=0.1), [], network_optima.descend
    monkeypatch.setattr(network_optima, "descend", lambda *a, **k: (made.append(k["passes"]), real(*a, **k))[1])
    for process in (PROCESSES[0], PROCESSES[1], PROCESSES[2], PROCESSES[2]):
        respond(problem, [], process, torch.tensor([1]), Options())
    assert made == [network_optima.ORIGIN_PASSES] * 2


def test_refusals_progress_and_cancelling(start):
    told = []
    with pytest.raises(InvalidInput, match="no class 3 to relabel to; use 0 to 2"):
        respond(start, [Relabel(label=3)], Reoptimize(), start.candidates, Options())
    respond(start, ALL[:2], Reoptimize(), torch.tensor([1, 2]), Options(progress=told.append))
    assert told == pytest.approx([0.25, 0.5, 0.75, 1.0])

    def cancel():
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        respond(moved_to(start, start.theta), [Remove()], Reoptimize(), start.candidates, Options(check=cancel))
