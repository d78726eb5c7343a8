"""Conjugate gradients against the dense inverse, and where the Hessian is not positive definite."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.curvature import cg, dense
from tests.engine.curvature.networks import close, converged, dense_gauss_newton, dense_hessian, problem, solve, vectors


@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_tight_tolerance_gives_the_inverse(damping):
    p = converged()
    matrix = dense_hessian(p) + damping * torch.eye(p.parameters, dtype=torch.float64)
    result = solve(cg.CG, p, vectors(p), damping, tolerance=1e-10, iterations=300)
    assert result.converged.all() and (result.residual <= 1e-10).all()
    assert close(result.x, torch.linalg.solve(matrix, vectors(p)), 1e-8)


def test_gauss_newton_is_positive_definite_where_the_hessian_is_not():
    p = problem("convolutions")
    matrix = dense_gauss_newton(p) + 0.1 * torch.eye(p.parameters, dtype=torch.float64)
    result = solve(cg.CG, p, vectors(p), 0.1, tolerance=1e-9, iterations=300, gauss_newton=True)
    assert result.converged.all() and result.info["negative_curvature"] == 0
    assert close(result.x, torch.linalg.solve(matrix, vectors(p)), 1e-7)


def test_columns_stop_on_their_own():
    p = converged()
    values, eigenvectors = torch.linalg.eigh(dense_hessian(p))
    rhs = torch.stack([eigenvectors[:, -1], vectors(p)[:, 0]], 1)
    result = solve(cg.CG, p, rhs, 0.1, tolerance=1e-6)
    assert close(result.x[:, 0], rhs[:, 0] / (values[-1] + 0.1), 1e-6)
    assert result.converged.all() and 1 < result.info["mean_iterations"] < result.info["iterations"]


def test_negative_curvature_ends_a_column_at_its_last_good_iterate():
    p = problem("mlp", loss="squared_probability_error", l2=0.0)
    values, eigenvectors = torch.linalg.eigh(dense_hessian(p))
    good, bad = eigenvectors[:, -1], eigenvectors[:, 0]
    assert values[0] < -0.02
    mixed = good + 0.1 * bad
    with pytest.warns(UserWarning, match="not positive definite"):
        result = solve(cg.CG, p, torch.stack([good, bad, mixed], 1), 0.0)
    assert result.converged.tolist() == [True, False, False]
    assert result.info["columns_with_negative_curvature"] == 2
    assert result.x[:, 1].abs().max() == 0 and result.residual[1] == 1
    first = (mixed @ mixed) / (mixed @ dense_hessian(p) @ mixed)  # the first step, before the direction turns
    assert close(result.x[:, 2], first * mixed, 1e-10)


def test_too_few_iterations_do_not_converge_and_are_no_negative_curvature():
    result = solve(cg.CG, converged(), vectors(converged()), 0.0, tolerance=1e-8, iterations=2)
    assert not result.converged.any() and result.info["iterations"] == 2
    assert result.info["columns_with_negative_curvature"] == 0


def test_a_matrix_too_large_to_factor_is_solved_to_a_bound_or_refused(monkeypatch):
    """The error of a positive definite system is at most its residual over the smallest eigenvalue."""
    p = converged()
    matrix = dense_hessian(p) + 0.1 * torch.eye(p.parameters, dtype=torch.float64)
    monkeypatch.setattr(dense, "LIMIT", p.parameters - 1)
    result = solve(dense.DENSE, p, vectors(p), 0.1)
    assert result.converged.all() and (result.residual <= 1e-8).all() and not result.info["negative_curvature"]
    allowed = 1e-8 * vectors(p).norm(dim=0) / torch.linalg.eigvalsh(matrix)[0]
    assert ((result.x - torch.linalg.solve(matrix, vectors(p))).norm(dim=0) <= allowed).all()
    with pytest.raises(InvalidInput, match="to be positive definite, .* raise the damping, select at most"):
        solve(dense.DENSE, problem("mlp", loss="squared_probability_error", l2=0.0), vectors(p), 0.0)
