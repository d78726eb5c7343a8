"""Every operator against a naive dense matrix: products, symmetry, mini-batches, damping, diagonal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from engine.basics.options import Options
from engine.curvature import GaussNewton, Hessian, Operator, SoftmaxHessian
from engine.curvature.dense import dense
from tests.engine.curvature import networks
from tests.engine.curvature.cases import close, make, naive_matrix


@dataclass(frozen=True)
class Case:
    """An operator's type, a problem, and its matrix without damping, for all examples or for some, done naively."""

    operator: type[Operator]
    problem: Callable[[], object]
    naive: Callable[..., torch.Tensor]


def softmax_matrix(problem, rows=slice(None)) -> torch.Tensor:
    """(1/b) Σ_i (x_i x_iᵀ) ⊗ (diag(p_i) − p_i p_iᵀ) + diag(λ) ⊗ I, one example at a time."""
    x, p = problem.x[rows], problem.probabilities[rows]
    found = torch.diag(problem.penalty.repeat_interleave(problem.classes))
    for example, q in zip(x, p, strict=True):
        found = found + torch.kron(torch.outer(example, example), torch.diag(q) - torch.outer(q, q)) / len(x)
    return found


CASES = {
    "softmax": Case(SoftmaxHessian, lambda: make(4), softmax_matrix),
    "softmax, intercept": Case(SoftmaxHessian, lambda: make(3, True), softmax_matrix),
    "softmax, wide": Case(SoftmaxHessian, lambda: make(3, n=5), softmax_matrix),
    "Hessian": Case(Hessian, lambda: networks.problem("convolutions"), networks.dense_hessian),
    "indefinite Hessian": Case(Hessian, lambda: networks.problem(loss="squared_probability_error"),
                               networks.dense_hessian),
    "Gauss–Newton": Case(GaussNewton, lambda: networks.problem("residual"), networks.dense_gauss_newton),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
ROWS = torch.tensor([3, 0, 3, 1])


def basis(operator: Operator) -> torch.Tensor:
    return torch.eye(operator.size, dtype=operator.dtype)


@cases
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_matmul_is_that_of_the_naive_matrix_and_symmetric(case, damping):
    problem = case.problem()
    operator = case.operator(problem, damping)
    found = operator @ basis(operator)
    assert close(found, case.naive(problem) + damping * basis(operator), 1e-10)
    assert close(found, found.T, 1e-10) and close(dense(operator), found, 1e-12)
    single = operator @ basis(operator)[:, 2:3]
    assert single.shape == (operator.size, 1) and close(single, found[:, 2:3], 1e-12)


@cases
def test_a_mini_batch_is_its_own_mean(case):
    problem = case.problem()
    operator = case.operator(problem, 0.2).batch(ROWS)
    assert close(operator @ basis(operator), case.naive(problem, ROWS) + 0.2 * basis(operator), 1e-10)


@cases
def test_damping_is_replaced_and_not_added(case):
    operator = case.operator(case.problem(), 0.2)
    first = operator @ basis(operator)
    assert close(operator.damped(0.5) @ basis(operator), first + 0.3 * basis(operator), 1e-12)
    assert close(operator @ basis(operator), first, 1e-14), "the first keeps its own"
    both = operator.batch(ROWS).damped(0.5) @ basis(operator)
    assert close(both, operator.damped(0.5).batch(ROWS) @ basis(operator), 1e-14)


@cases
def test_products_leave_their_vectors_alone_and_ask_whether_to_stop(case):
    asked = []
    operator = case.operator(case.problem(), 0.2, Options(check=lambda: asked.append(1)))
    vectors = basis(operator)[:, ::2]
    before = vectors.clone()
    operator @ vectors
    assert torch.equal(vectors, before) and asked


@cases
def test_eigenpairs_and_the_smallest_eigenvalue(case):
    problem = case.problem()
    operator, values = case.operator(problem, 0.2), torch.linalg.eigvalsh(case.naive(problem))
    pairs = operator.eigenpairs(operator.size)
    assert close(pairs.values.sort().values, values, 1e-8) and abs(pairs.smallest - values[0]) < 1e-8
    assert close(pairs.values.abs(), values.abs().sort(descending=True).values, 1e-8)
    assert close(operator.damped(0.0) @ pairs.vectors, pairs.vectors * pairs.values, 1e-8)
    if case.operator is not GaussNewton:
        assert operator.smallest_eigenvalue() <= max(values[0].item(), 0.0) + 1e-3
        assert (operator.smallest_eigenvalue() < 0) == (values[0] < -1e-10)


@cases
def test_what_is_decoupled_is_solved(case):
    problem = case.problem()
    operator = case.operator(problem, 0.2)
    rhs = torch.randn(operator.size, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    known, rest = operator.decoupled(rhs)
    matrix = case.naive(problem) + 0.2 * basis(operator)
    if case.operator is SoftmaxHessian and problem.intercept:
        matrix[-problem.classes:, -problem.classes:] += 1 / problem.classes  # as `softmax.pin_intercept` has it
    assert close(known + torch.linalg.solve(matrix, rest), torch.linalg.solve(matrix, rhs), 1e-10)


@pytest.mark.parametrize("rows", [None, ROWS])
def test_softmax_has_its_diagonal_and_single_precision(rows):
    problem = make(4, True)
    operator = SoftmaxHessian(problem, 0.2, rows=rows)
    expected = softmax_matrix(problem, slice(None) if rows is None else rows) + 0.2 * basis(operator)
    assert close(operator.diagonal(), expected.diagonal(), 1e-12)
    single = operator.for_tolerance(1e-2)
    assert single.dtype == torch.float32 and operator.for_tolerance(1e-6) is operator
    assert close((single @ basis(single)).double(), expected, 1e-5)
    assert close(softmax_matrix(problem), naive_matrix(problem, 0.0), 1e-10)
