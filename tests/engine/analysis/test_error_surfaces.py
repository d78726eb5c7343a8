"""Error surfaces against the curves that are their slices, and against steps taken one by one."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from engine.analysis.error_curves import agreement, at_alpha, solver_scoring, step_agreement, upweighted
from engine.analysis.error_surfaces import DAMPINGS, STEPS, SURFACES, summarized, surface_row
from engine.basics.errors import InvalidInput
from engine.problems import ModuleProblem, ProblemSource
from engine.scoring.compute import compute
from tests.engine.single_thread import one_thread  # noqa: F401


@pytest.fixture(scope="module")
def problem():
    return ProblemSource(n_train=40, n_queries=5, n_test=8, n_candidates=15).build().problem


def test_the_first_column_of_steps_is_the_curve(problem):
    for eta in (0.01, 1.0):
        found, curve = surface_row(problem, "steps", "hard_margin", eta), step_agreement(problem, eta)["hard_margin"]
        for metric, values in curve.items():
            assert np.allclose(found[metric][0], values, equal_nan=True)


def test_steps_are_those_taken_one_by_one_in_weight_space(problem):
    """θ stepped on z_k's own loss by autograd, against the first-order term; Kendall's τ by SciPy."""
    eta, number = 1.0, 3
    queries, labels, theta = problem.queries, problem.query_labels, problem.theta.view(-1, problem.classes)

    def behavior(weights):
        return -torch.nn.functional.cross_entropy(queries @ weights, labels, reduction="none")

    exact, first = [], []
    for row in problem.candidates:
        weights, x, y = theta.clone(), problem.x[row][None], problem.y[row][None]
        directions = []
        for _ in range(number):
            at = weights.clone().requires_grad_()
            directions.append(torch.autograd.grad(torch.nn.functional.cross_entropy(x @ at, y), at)[0])
            weights = weights - eta * directions[-1]
        exact.append(behavior(weights) - behavior(theta))
        first.append(torch.func.jvp(behavior, (theta,), (-eta * number * directions[0],))[1])
    exact, first = torch.stack(exact, 1), torch.stack(first, 1)
    expected = [kendalltau(a, b).statistic for a, b in zip(exact, first, strict=True)]
    found = surface_row(problem, "steps", "query_loss", eta)["kendall_tau"][STEPS.index(number)]
    assert np.allclose(found, expected)


def test_without_damping_the_surface_is_the_curve_over_alpha(problem):
    alpha = 1e-2
    exact, unit = compute(problem, [upweighted("query_loss", alpha), solver_scoring("query_loss", "cholesky")])
    curve = agreement(exact, at_alpha(unit, alpha))
    found = surface_row(problem, "damping", "query_loss", alpha)
    for metric, values in curve.items():
        assert np.allclose(found[metric][0], values, atol=1e-12, equal_nan=True)
    assert found["kendall_tau"].shape == (len(DAMPINGS), 5)
    assert not np.allclose(found["kendall_tau"][-1], found["kendall_tau"][0])


def test_the_summary_has_every_point(problem):
    found = {"kendall_tau": np.random.default_rng(0).random((10, 6, 5))}
    table = summarized("steps", found)
    assert len(table) == 60 and table["mean"][7] == pytest.approx(found["kendall_tau"][1, 1].mean())
    assert (table["η"][7], table["steps"][7]) == (0.02, 2)


def test_what_has_no_surface_is_refused(problem):
    assert "optimum" in SURFACES["damping"].refusal(ModuleProblem) and not SURFACES["steps"].refusal(ModuleProblem)
    with pytest.raises(InvalidInput, match="no gradient"):
        surface_row(problem, "steps", "correct", 0.1)
    with pytest.raises(InvalidInput, match="error surface"):
        surface_row(problem, "flat", "query_loss", 0.1)
