"""What every solver of the registry promises, and what each does where it must be exact."""

from dataclasses import replace

import pytest
import torch

from engine.basics.options import Options
from engine.curvature import SOLVERS, SoftmaxHessian, softmax_hessian, solvers_for
from engine.curvature.plain_inverse import PLAIN_INVERSE
from engine.models import softmax
from engine.problems import SoftmaxProblem
from tests.engine.curvature.cases import (
    CASES,
    close,
    gradients,
    make,
    naive_matrix,
    naive_residual,
    naive_solution,
    solve,
)

HESSIANS = solvers_for(SoftmaxProblem)
ALL = list(HESSIANS)
ITERATIVE = ["cg", "lissa", "arnoldi"]


class Cancelled(Exception):
    pass


def test_registry():
    assert ALL == ["cholesky", "cg", "lissa", "arnoldi", "kfac"]
    assert [name for name, solver in HESSIANS.items() if solver.exact] == ["cholesky"]
    assert all(solver.name == name and solver.title and solver.source for name, solver in HESSIANS.items())


@pytest.mark.parametrize("classes, intercept, damping, columns", CASES)
def test_cholesky_is_the_inverse(classes, intercept, damping, columns):
    problem = make(classes, intercept)
    rhs = gradients(problem, columns)
    expected = naive_solution(problem, naive_matrix(problem, damping), rhs)
    assert close(solve(SOLVERS["cholesky"], problem, rhs, damping).x, expected, 1e-9)


@pytest.mark.parametrize("classes, intercept, damping, columns", CASES)
def test_a_plain_inverse_is_one_where_there_is_one(classes, intercept, damping, columns):
    """Where there is none, a column that it calls converged is right but for a shift of all intercepts."""
    problem = make(classes, intercept)
    rhs = gradients(problem, columns)
    right, found = (solve(solver, problem, rhs, damping) for solver in (SOLVERS["cholesky"], PLAIN_INVERSE))
    if not intercept or damping:
        assert found.converged.all() and close(found.x, right.x, 1e-8)
        return
    off = (found.x - right.x).reshape(problem.dimension, classes, columns)[..., found.converged]
    rest = (off - off.mean(1, keepdim=True)).flatten(0, 1).norm(dim=0)
    bound = 1e-6 / problem.l2 * rhs.reshape(problem.parameters, columns).norm(dim=0)[found.converged]
    assert (rest <= bound).all() and right.converged.all()


@pytest.mark.grid
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("classes, intercept, damping, columns", CASES)
def test_reported_residual_is_the_true_one(name, classes, intercept, damping, columns):
    problem = make(classes, intercept)
    rhs = gradients(problem, columns)
    result = solve(SOLVERS[name], problem, rhs, damping)
    assert result.x.shape == rhs.shape and result.x.dtype == torch.float64
    assert result.residual.shape == result.converged.shape == (columns,) and result.converged.dtype == torch.bool
    assert torch.allclose(result.residual, naive_residual(problem, result.x, rhs, damping), rtol=1e-6, atol=1e-12)


@pytest.mark.grid
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("intercept", [False, True])
def test_columns_do_not_depend_on_the_batch(name, intercept):
    problem = make(intercept=intercept)
    rhs = gradients(problem, 9)
    whole = solve(SOLVERS[name], problem, rhs, 0.01)
    parts = [solve(SOLVERS[name], problem, rhs[..., a:b], 0.01) for a, b in [(0, 1), (1, 4), (4, 9)]]
    assert close(torch.cat([part.x for part in parts], -1), whole.x, 1e-5)


@pytest.mark.grid
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scale", [1e-30, 1e6])
def test_linear_in_the_right_hand_side(name, scale):
    problem = make()
    rhs = gradients(problem, 3)
    small = solve(SOLVERS[name], problem, rhs, 0.0)
    large = solve(SOLVERS[name], problem, scale * rhs, 0.0)
    assert close(large.x / scale, small.x, 1e-5)
    assert torch.allclose(large.residual, small.residual, rtol=1e-2, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_zero_column(name):
    problem = make(intercept=True)
    rhs = gradients(problem, 3)
    rhs[..., 1] = 0.0
    result = solve(SOLVERS[name], problem, rhs, 0.0)
    assert (result.x[..., 1] == 0).all() and result.residual[1] == 0 and result.converged.all()


@pytest.mark.parametrize("name", ALL)
def test_any_memory_layout(name):
    problem = make()
    rhs = gradients(problem, 4)
    strange = rhs.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    before = strange.clone()
    assert close(solve(SOLVERS[name], problem, strange, 0.0).x, solve(SOLVERS[name], problem, rhs, 0.0).x, 1e-5)
    assert torch.equal(strange, before)


@pytest.mark.parametrize("name", ALL)
def test_same_seed_same_result(name):
    first, second = (solve(SOLVERS[name], make(), gradients(make(), 4), 0.0, Options(seed=3)) for _ in range(2))
    assert torch.equal(first.x, second.x)


@pytest.mark.parametrize("name", ALL)
def test_changing_the_damping_forgets_the_old_one(name):
    problem, rhs = make(intercept=True), gradients(make(intercept=True), 4)
    solve(SOLVERS[name], problem, rhs, 0.0)
    again = solve(SOLVERS[name], problem, rhs, 0.3)
    assert close(again.x, solve(SOLVERS[name], make(intercept=True), rhs, 0.3).x, 1e-12)


@pytest.mark.parametrize("name", ITERATIVE)
def test_can_be_cancelled(name):
    def check():
        raise Cancelled

    problem = make(classes=10, d=100, n=100)
    with pytest.raises(Cancelled):
        solve(SOLVERS[name], problem, gradients(problem, 2), 0.0, replace(Options(), check=check))


@pytest.mark.parametrize("name", [name for name in ALL if name != "cholesky"])
def test_no_dense_hessian_is_needed(name, monkeypatch):
    problem = make(classes=10, d=90, n=120)
    rhs = gradients(problem, 3)
    expected = solve(SOLVERS[name], problem, rhs, 0.01)
    monkeypatch.setattr(softmax, "DENSE_LIMIT", 100)
    monkeypatch.setattr(softmax_hessian, "DENSE_PRODUCT", 100)
    fresh = make(classes=10, d=90, n=120)
    result = solve(SOLVERS[name], fresh, rhs, 0.01)
    assert "hessian" not in vars(fresh)
    assert close(result.x, expected.x, 1e-4)


@pytest.mark.parametrize("dtype, relative", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_dense_and_matrix_free_products_agree(dtype, relative, monkeypatch):
    problem = make(intercept=True)
    vectors = torch.randn(problem.dimension, problem.classes, 5, dtype=torch.float64)
    expected = naive_matrix(problem, 0.2) @ vectors.view(-1, 5)
    for limit in (0, 10_000):
        monkeypatch.setattr(softmax_hessian, "DENSE_PRODUCT", limit)
        product = SoftmaxHessian(problem, 0.2, dtype=dtype) @ vectors.view(-1, 5).to(dtype)
        assert product.dtype == dtype and close(product.double(), expected, relative)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ALL)
def test_cuda_agrees_with_cpu(name):
    on_cpu, on_gpu = make(intercept=True), make(intercept=True, device="cuda")
    expected = solve(SOLVERS[name], on_cpu, gradients(on_cpu, 4), 0.01)
    result = solve(SOLVERS[name], on_gpu, gradients(on_gpu, 4), 0.01)
    assert result.x.is_cuda and close(result.x.cpu(), expected.x, 1e-4)
