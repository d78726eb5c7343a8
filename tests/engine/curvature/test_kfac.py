"""The Kronecker-factored inverse against the Kronecker product itself."""

import pytest
import torch

from engine.curvature import kfac
from tests.engine.curvature.cases import CASES, close, gradients, make, naive_matrix, naive_solution, solve, untrained


def approximation(problem, damping):
    """A ⊗ G + diag(λ + damping) ⊗ I by loops over the examples."""
    a = sum(torch.outer(x, x) for x in problem.x) / problem.n
    g = sum(torch.diag(p) - torch.outer(p, p) for p in problem.probabilities) / problem.n
    return torch.kron(a, g) + torch.diag((problem.penalty + damping).repeat_interleave(problem.classes))


@pytest.mark.parametrize("classes, intercept, damping, columns", CASES)
def test_inverts_the_kronecker_approximation(classes, intercept, damping, columns):
    problem = make(classes, intercept)
    for rhs in (gradients(problem, columns),
                torch.randn(problem.dimension, classes, columns, dtype=torch.float64)):
        expected = naive_solution(problem, approximation(problem, damping), rhs)
        assert close(solve(kfac.KFAC, problem, rhs, damping).x, expected, 1e-5)


@pytest.mark.parametrize("classes, intercept, damping, columns", CASES)
def test_exact_where_all_probabilities_are_equal(classes, intercept, damping, columns):
    problem = untrained(make(classes, intercept))
    rhs = gradients(problem, columns)
    result = solve(kfac.KFAC, problem, rhs, damping)
    assert close(result.x, naive_solution(problem, naive_matrix(problem, damping), rhs), 1e-5)
    assert (result.residual < 1e-5).all()


def test_nearer_to_the_inverse_as_the_regulariser_grows():
    residuals = []
    for l2 in (1e-3, 1e-1, 10.0):
        problem = make(l2=l2)
        residuals.append(solve(kfac.KFAC, problem, gradients(problem, 5), 0.0).residual.max())
    assert residuals[0] > residuals[1] > residuals[2] and residuals[2] < 0.01


def test_converged_says_only_that_the_result_is_finite():
    problem = make(l2=1e-4)
    result = solve(kfac.KFAC, problem, gradients(problem, 5), 0.0)
    assert result.converged.all() and result.residual.max() > 0.1


def test_factors_are_made_once_for_a_damping(monkeypatch):
    problem = make()
    rhs = gradients(problem, 2)
    first = solve(kfac.KFAC, problem, rhs, 0.1)
    monkeypatch.setattr(kfac, "factorise", None)
    assert torch.equal(solve(kfac.KFAC, problem, rhs, 0.1).x, first.x)
