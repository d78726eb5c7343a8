"""The low-rank inverse, its eigenpairs and its complement."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.curvature import SoftmaxHessian, arnoldi
from engine.models import softmax
from tests.engine.curvature.cases import CASES, close, gradients, make, naive_matrix, naive_solution, solve


@pytest.mark.parametrize("classes, intercept, damping, columns", CASES)
def test_full_rank_is_the_inverse(classes, intercept, damping, columns):
    problem = make(classes, intercept)
    rhs = gradients(problem, columns)
    result = solve(arnoldi.ARNOLDI, problem, rhs, damping, rank=10_000)
    assert close(result.x, naive_solution(problem, naive_matrix(problem, damping), rhs), 1e-8)
    assert (result.residual < 1e-10).all() and result.info["rank"] == problem.parameters


def test_truncated_inverse_written_out():
    problem = make(4, d=8)
    rhs = gradients(problem, 5)
    values, vectors = torch.linalg.eigh(naive_matrix(problem, 0.0))
    expected = torch.zeros(32, 5, dtype=torch.float64)
    for i in range(1, 7):
        v = vectors[:, -i]
        expected += torch.outer(v, v @ rhs.reshape(32, 5)) / (values[-i] + 0.1)
    result = solve(arnoldi.ARNOLDI, problem, rhs, 0.1, rank=6)
    assert close(result.x.view(32, 5), expected, 1e-10)
    assert result.info["smallest_eigenvalue"] == pytest.approx(values[-6].item())


def test_block_lanczos_finds_the_largest_eigenpairs(monkeypatch):
    problem = make(10, n=150, d=40, l2=1e-3)
    values, vectors = torch.linalg.eigh(problem.hessian)
    monkeypatch.setattr(torch.linalg, "eigh", _only_small(torch.linalg.eigh, 200))
    pairs = SoftmaxHessian(problem).eigenpairs(20)
    found, basis = pairs.values, pairs.vectors
    assert torch.allclose(found, values[-20:].flip(0), rtol=1e-3)
    assert close(basis.T @ basis, torch.eye(20, dtype=torch.float64), 1e-12)
    leading = basis[:, :5].T @ vectors[:, -5:].flip(1)
    assert torch.allclose(leading.diagonal().abs(), torch.ones(5, dtype=torch.float64), atol=1e-3)


def _only_small(eigh, limit):
    def checked(matrix):
        assert len(matrix) <= limit, "a full decomposition was made"
        return eigh(matrix)

    return checked


def test_block_lanczos_survives_a_hessian_of_low_rank():
    problem = make(3, n=4, d=300, l2=1e-2)
    pairs = SoftmaxHessian(problem).eigenpairs(30)
    found, basis = pairs.values, pairs.vectors
    exact = torch.linalg.eigvalsh(problem.hessian).flip(0)[:30]
    assert torch.allclose(found, exact, rtol=1e-6)
    assert close(basis.T @ basis, torch.eye(30, dtype=torch.float64), 1e-10)


def test_residual_shrinks_with_rank():
    problem = make(5, n=200, d=20)
    rhs = gradients(problem, 10)
    residuals = [solve(arnoldi.ARNOLDI, problem, rhs, 0.0, rank=rank).residual for rank in (1, 4, 16, 64, 100)]
    assert all((later <= earlier + 1e-12).all() for earlier, later in zip(residuals, residuals[1:], strict=False))
    assert residuals[0].max() < 1 and residuals[-1].max() < 1e-10


def test_eigenpairs_are_found_once_for_every_damping(monkeypatch):
    problem = make()
    rhs = gradients(problem, 2)
    solve(arnoldi.ARNOLDI, problem, rhs, 0.0)
    monkeypatch.setattr(torch.linalg, "eigh", None)
    solve(arnoldi.ARNOLDI, problem, rhs, 0.5)


def test_rank_below_one_is_refused():
    with pytest.raises(InvalidInput, match="at least 1"):
        solve(arnoldi.ARNOLDI, make(), gradients(make(), 1), 0.0, rank=0)


def test_rank_that_needs_too_large_a_matrix_is_refused(monkeypatch):
    monkeypatch.setattr(softmax, "DENSE_LIMIT", 10)
    with pytest.raises(InvalidInput, match="too large"):
        solve(arnoldi.ARNOLDI, make(), gradients(make(), 1), 0.0, rank=15)
