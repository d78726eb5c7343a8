"""LiSSA against its own recursion written out, and against the inverse it approaches."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import SoftmaxHessian, lissa
from engine.models import softmax
from tests.engine.curvature.cases import CASES, close, gradients, make, naive_matrix, naive_solution, solve


def batch_hessian(problem, rows):
    return softmax.hessian(problem.probabilities[rows], problem.x[rows], problem.penalty)


def test_paper_settings_are_the_defaults():
    result = solve(lissa.LISSA, make(n=100), gradients(make(n=100), 2), 0.0)
    assert {k: result.info[k] for k in ("iterations", "batch_size", "damping", "averaged")} == {
        "iterations": 50, "batch_size": 64, "damping": 0.05, "averaged": 20}


@pytest.mark.parametrize("damping, stated", [(0.0, 0.05), (0.01, 0.05), (0.2, 0.2)])
def test_recursion_written_out(damping, stated):
    problem = make(intercept=True, n=100)
    rhs = gradients(problem, 3)
    result = solve(lissa.LISSA, problem, rhs, damping, Options(seed=5), iterations=7, batch_size=10, averaged=3)
    sigma, flat = result.info["scale"], rhs.reshape(-1, 3)
    iterates, identity = [flat], torch.eye(len(flat), dtype=flat.dtype)
    for rows in lissa.mini_batches(SoftmaxHessian(problem, options=Options(seed=5)), 7, 10):
        step = identity - (batch_hessian(problem, rows) + stated * identity) / sigma
        iterates.append(flat + step @ iterates[-1])
    assert result.info["damping"] == stated
    assert close(result.x.view(-1, 3), sum(iterates[-3:]) / (3 * sigma), 1e-10)


@pytest.mark.parametrize("classes, intercept, damping, columns", CASES)
def test_many_full_batches_give_the_inverse(classes, intercept, damping, columns, monkeypatch):
    monkeypatch.setattr(SoftmaxHessian, "power_steps", (1, 1))
    problem = make(classes, intercept, l2=0.1)
    rhs = gradients(problem, columns)
    result = solve(lissa.LISSA, problem, rhs, damping, iterations=500, batch_size=60, own_damping=0.0, averaged=1)
    assert close(result.x, naive_solution(problem, naive_matrix(problem, damping), rhs), 1e-4)
    assert (result.residual < 1e-4).all() and result.converged.all()


def test_residual_shrinks_with_iterations_and_stays_finite_at_the_defaults():
    problem = make(5, n=200, d=20, l2=1e-2)
    rhs = gradients(problem, 10)
    residuals = [solve(lissa.LISSA, problem, rhs, 0.05, iterations=t, batch_size=200, averaged=1).residual.max()
                 for t in (5, 20, 80, 320)]
    assert all(later < earlier for earlier, later in zip(residuals, residuals[1:], strict=False))
    assert (solve(lissa.LISSA, problem, rhs, 0.05).residual < 1).all()


@pytest.mark.parametrize("batch_size", [1, 8, 64])
def test_scale_holds_every_batch(batch_size):
    problem = make(4, n=150, d=12)
    hessian = SoftmaxHessian(problem)
    batches = lissa.mini_batches(hessian, 30, batch_size)
    largest = max(torch.linalg.eigvalsh(batch_hessian(problem, rows))[-1].item() for rows in batches)
    assert 0.9 * largest <= lissa.largest_curvature(hessian, batches) <= largest * (1 + 1e-9)
    assert solve(lissa.LISSA, problem, gradients(problem, 5), 0.0, batch_size=batch_size).converged.all()


def test_seed_decides_the_batches():
    problem = make(n=200)
    rhs = gradients(problem, 4)
    a, b, c = (solve(lissa.LISSA, problem, rhs, 0.0, Options(seed=seed)).x for seed in (0, 0, 1))
    assert torch.equal(a, b) and not close(a, c, 1e-6)
    assert torch.equal(a, solve(lissa.LISSA, problem, rhs, 0.0).x)


@pytest.mark.parametrize("settings", [{"averaged": 0}, {"averaged": 51}, {"batch_size": 0}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(InvalidInput, match="LiSSA averages"):
        solve(lissa.LISSA, make(), gradients(make(), 1), 0.0, **settings)
