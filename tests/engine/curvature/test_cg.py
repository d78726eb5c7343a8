"""Conjugate gradients, the routine and the solver."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.curvature import SOLVERS, cg, class_blocks
from engine.data import digits
from engine.data.sampling import draw
from engine.models import softmax
from engine.models.linear_solvers import conjugate_gradients
from engine.problems.softmax import SoftmaxProblem
from tests.engine.curvature.cases import CASES, close, fresh, gradients, make, naive_matrix, naive_solution, solve


def system(size: int = 12, columns: int = 5):
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(size, size, generator=generator, dtype=torch.float64)
    rhs = torch.randn(size, columns, generator=generator, dtype=torch.float64)
    return root @ root.T + torch.eye(size, dtype=torch.float64), rhs


@pytest.mark.parametrize("preconditioned", [False, True])
def test_routine_solves_in_at_most_as_many_steps_as_unknowns(preconditioned):
    matrix, rhs = system()
    diagonal = matrix.diagonal()[:, None]
    result = conjugate_gradients(lambda v: matrix @ v, rhs, tolerance=1e-8, limit=14,
                                 precondition=(lambda r: r / diagonal) if preconditioned else None)
    assert close(result.x, torch.linalg.solve(matrix, rhs), 1e-7)
    assert (result.residual <= 1e-8).all() and (result.iterations <= 14).all()


def test_routine_against_a_textbook_loop():
    matrix, rhs = system()
    for k in range(rhs.shape[1]):
        x, r = torch.zeros(12, dtype=torch.float64), rhs[:, k]
        p = r
        for _ in range(4):
            alpha = (r @ r) / (p @ matrix @ p)
            x, new = x + alpha * p, r - alpha * (matrix @ p)
            p, r = new + (new @ new) / (r @ r) * p, new
        result = conjugate_gradients(lambda v: matrix @ v, rhs, tolerance=0.0, limit=4)
        assert close(result.x[:, k], x, 1e-10)
        assert result.residual[k].item() == pytest.approx((r.norm() / rhs[:, k].norm()).item(), rel=1e-8)


def test_columns_leave_when_they_are_done():
    matrix = torch.diag(torch.arange(1.0, 7.0, dtype=torch.float64))
    rhs = torch.eye(6, dtype=torch.float64)[:, :4]
    rhs[:, 2], rhs[:, 3] = 0.0, 1.0
    widths = []

    def apply(v):
        widths.append(v.shape[-1])
        return matrix @ v

    result = conjugate_gradients(apply, rhs, tolerance=1e-10, limit=20)
    assert result.iterations.tolist() == [1, 1, 0, 6] and widths == [3, 1, 1, 1, 1, 1]
    assert close(result.x, torch.linalg.solve(matrix, rhs), 1e-9) and result.residual[2] == 0


def test_a_direction_without_curvature_ends_a_column():
    matrix = torch.diag(torch.tensor([1.0, 0.0], dtype=torch.float64))
    result = conjugate_gradients(lambda v: matrix @ v, torch.eye(2, dtype=torch.float64), tolerance=1e-6, limit=9)
    assert result.x.tolist() == [[1.0, 0.0], [0.0, 0.0]] and result.residual.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("classes, intercept, damping, columns", CASES)
def test_tight_tolerance_gives_the_inverse(classes, intercept, damping, columns, diagonal, monkeypatch):
    if diagonal:
        monkeypatch.setattr(class_blocks, "ENTRIES", 0)
    problem = make(classes, intercept)
    matrix = naive_matrix(problem, damping)
    result = solve(cg.CG, problem, gradients(problem, columns), damping, tolerance=1e-11, iterations=300)
    assert result.converged.all() and (result.residual <= 1e-11).all()
    assert close(result.x, naive_solution(problem, matrix, gradients(problem, columns)), 1e-8)
    rhs = torch.randn(*result.x.shape, dtype=torch.float64)
    assert close(solve(cg.CG, problem, rhs, damping, tolerance=1e-11).x, naive_solution(problem, matrix, rhs), 1e-8)


def test_blocks_are_those_of_the_hessian():
    problem = make(intercept=True)
    d, c = problem.dimension, problem.classes
    dense = naive_matrix(problem, 0.1).view(d, c, d, c)
    inverses, diagonal = class_blocks.block_inverses(problem, 0.1), class_blocks.diagonal_inverse(problem, 0.1)
    for k in range(c):
        assert close(inverses[k], torch.linalg.inv(dense[:, k, :, k]), 1e-6)
        assert close(diagonal[:, k], 1 / dense[:, k, :, k].diagonal(), 1e-9)


def test_class_means_are_solved_in_closed_form():
    problem = make(4, intercept=True)
    rhs = torch.randn(problem.dimension, 1, 3, dtype=torch.float64).expand(-1, 4, -1)
    result = solve(cg.CG, problem, rhs, 0.1, iterations=1)
    divisor = torch.tensor([0.11] * 6 + [1.1], dtype=torch.float64)
    assert result.info["iterations"] == 0 and close(result.x, rhs / divisor[:, None, None], 1e-12)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-3, 1e-6])
def test_residual_is_within_the_tolerance(tolerance):
    problem = make(5, n=200, d=20, l2=1e-4)
    result = solve(cg.CG, problem, gradients(problem, 20), 0.0, tolerance=tolerance)
    assert result.converged.all() and (result.residual <= tolerance).all()
    assert result.info["tolerance"] == tolerance and 0 < result.info["mean_iterations"] <= result.info["iterations"]


def test_tighter_tolerance_takes_more_iterations_and_too_few_do_not_converge():
    problem = make(5, n=200, d=20, l2=1e-4)
    rhs = gradients(problem, 20)
    counts = [solve(cg.CG, problem, rhs, 0.0, tolerance=t).info["iterations"] for t in (1e-1, 1e-2, 1e-3, 1e-6)]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    stopped = solve(cg.CG, problem, rhs, 0.0, tolerance=1e-6, iterations=2)
    assert not stopped.converged.any() and stopped.info["iterations"] == 2


def test_hessian_that_is_not_positive_definite_is_refused():
    problem = make()
    with pytest.raises(InvalidInput, match="damping above zero"):
        class_blocks.block_inverses(problem, float("nan"))


def test_training_above_the_dense_limit_reaches_the_same_optimum(monkeypatch):
    expected = fresh(4, True, 60, 10, 1e-2).weights
    monkeypatch.setattr(softmax, "DENSE_LIMIT", 0)
    assert close(fresh(4, True, 60, 10, 1e-2).weights, expected, 1e-9)


@pytest.fixture(scope="module")
def digits_problem():
    return SoftmaxProblem.from_arrays(draw(digits.load(), n_train=300, n_candidates=60, n_queries=10))


@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_default_ranks_digits_nearly_as_cholesky_does(damping, digits_problem):
    problem = digits_problem
    chosen = problem.candidates
    rhs = torch.einsum("bd,bc->dcb", problem.x[chosen], problem.training_signal(chosen))
    scores = []
    for name in ("cholesky", "cg"):
        x = solve(SOLVERS[name], problem, rhs, damping).x
        scores.append(torch.stack([torch.einsum("d,db->b", q, x[:, y]) for q, y in
                                   zip(problem.queries, problem.query_labels, strict=True)]))
    signs = [(s[:, :, None] > s[:, None, :]) for s in scores]
    discordant = (signs[0] != signs[1]).double().sum((1, 2)) / (60 * 59)
    assert (1 - 2 * discordant).mean() > 0.95
