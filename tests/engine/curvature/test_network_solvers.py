"""What all solvers promise: a true residual, a warning where the matrix is not positive definite, bounded memory."""

import warnings

import pytest
import torch

from engine.basics.options import Options
from engine.curvature import SOLVERS, Hessian, hessian, solvers_for
from engine.curvature.solution import measured
from engine.problems import ModuleProblem
from tests.engine.curvature.networks import close, converged, dense_gauss_newton, dense_hessian, problem, solve, vectors

SETTINGS = {"cg": {}, "cg_gauss_newton": {}, "lissa": {}, "arnoldi": {"rank": 5}, "ekfac": {}, "tkfac": {},
            "shampoo": {}, "astra": {}, "datainf": {}, "logra": {}, "factgrass": {}}
LISSA_SLOW = [pytest.param(name, marks=pytest.mark.slow) if name == "lissa" else name for name in SETTINGS]
OF_GAUSS_NEWTON = set(SETTINGS) - {"cg", "lissa", "arnoldi", "datainf"}
NOT_LOOKING = OF_GAUSS_NEWTON - {"cg_gauss_newton"}
"""For negative curvature: the Gauss–Newton matrix is theirs, and they do not iterate on it by conjugate gradients."""
GAUSS_NEWTON = [("cg", True), ("lissa", True), ("arnoldi", True), ("ekfac", False)]


def test_registry_holds_them_with_their_sources():
    found = solvers_for(ModuleProblem)
    assert sorted(found) == sorted(SETTINGS)
    assert all(solver.name == name and solver.title and solver.source and not solver.exact
               for name, solver in found.items())


def relative(matrix, x, rhs, damping):
    return torch.stack([(matrix @ a + damping * a - b).norm() / b.norm() for a, b in zip(x.T, rhs.T, strict=True)])


@pytest.mark.parametrize("name", SETTINGS)
def test_residual_is_that_of_the_matrix_that_is_named(name):
    p, rhs = converged(), vectors(converged())
    result = solve(SOLVERS[name], p, rhs, 0.1, **SETTINGS[name])
    matrix = dense_gauss_newton(p) if name in OF_GAUSS_NEWTON else dense_hessian(p)
    assert result.info["residual_of_gauss_newton"] == (name in OF_GAUSS_NEWTON)
    assert close(result.residual, relative(matrix, result.x, rhs, 0.1), 1e-8)
    assert result.x.shape == rhs.shape and result.converged.dtype == torch.bool and result.converged.all()
    assert all(isinstance(value, float) for value in result.info.values())


@pytest.mark.parametrize("name", ["cg", "lissa", "arnoldi"])
def test_gauss_newton_in_place_of_the_hessian(name):
    p, rhs = problem(loss="squared_probability_error"), vectors(problem())
    result = solve(SOLVERS[name], p, rhs, 0.5, gauss_newton=True, **SETTINGS[name])
    assert result.info["residual_of_gauss_newton"] == 1
    assert (result.residual - relative(dense_gauss_newton(p), result.x, rhs, 0.5)).abs().max() < 1e-12


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - NOT_LOOKING))
def test_indefinite_hessian_is_reported_in_one_sentence(name):
    p = problem("mlp", loss="squared_probability_error", l2=0.0)
    assert torch.linalg.eigvalsh(dense_hessian(p))[0] < -0.02
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = solve(SOLVERS[name], p, vectors(p), 1e-3, **SETTINGS[name])
    said = [str(w.message) for w in caught if w.category is UserWarning]
    assert len(said) == 1 and "not positive definite" in said[0] and "damping" in said[0]
    assert result.info["negative_curvature"] == 1


@pytest.mark.parametrize("name", sorted(NOT_LOOKING))
def test_solvers_of_the_gauss_newton_matrix_multiply_by_no_hessian(name, monkeypatch):
    p = problem("mlp", loss="squared_probability_error", l2=0.0)
    monkeypatch.setattr(hessian, "hessian_map", lambda *_: pytest.fail("a product with the Hessian"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve(SOLVERS[name], p, vectors(p), 1e-3, **SETTINGS[name])
    assert result.info["negative_curvature"] == 0


@pytest.mark.parametrize("name", SETTINGS)
def test_positive_definite_hessian_is_not_warned_of(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve(SOLVERS[name], converged(), vectors(converged()), 0.1, **SETTINGS[name])
    assert result.info["negative_curvature"] == 0


@pytest.mark.parametrize("name", LISSA_SLOW)
def test_memory_budget_does_not_change_the_solution(name):
    p = converged()
    small = Options(budget=9 * p.parameters * 8 * 16)
    whole, parts = (solve(SOLVERS[name], p, vectors(p, 5), 0.1, o, **SETTINGS[name]) for o in (None, small))
    assert close(parts.x, whole.x, 1e-9) and close(parts.residual, whole.residual, 1e-6)


@pytest.mark.parametrize("name", SETTINGS)
def test_zero_is_solved_by_zero(name):
    p = converged()
    rhs = vectors(p, 3)
    rhs[:, 1] = 0
    result = solve(SOLVERS[name], p, rhs, 0.1, **SETTINGS[name])
    assert result.x[:, 1].abs().max() == 0 and result.residual[1] == 0 and result.converged[1]


@pytest.mark.parametrize("name", LISSA_SLOW)
def test_single_precision(name):
    p, single = problem("convolutions"), problem("convolutions", dtype="float32")
    a, b = (solve(SOLVERS[name], q, vectors(q), 3.0, **SETTINGS[name]).x for q in (p, single))
    assert b.dtype == torch.float32 and close(b.double(), a, 2e-2 if name == "cg" else 1e-4)


@pytest.mark.parametrize("name", ["lissa", "arnoldi", "ekfac", "datainf"])
def test_residual_of_some_columns_only(name):
    p = converged()
    every = solve(SOLVERS[name], p, vectors(p, 5), 0.1, **SETTINGS[name]).residual
    some = solve(SOLVERS[name], p, vectors(p, 5), 0.1, columns=3, **SETTINGS[name]).residual
    assert some.isnan().tolist() == [False, True, False, True, False]
    assert close(some[::2], every[::2], 1e-9)


def test_smallest_eigenvalue_is_found_and_kept(monkeypatch):
    p = problem()
    expected = torch.linalg.eigvalsh(dense_hessian(p))[0].item()
    assert Hessian(p).smallest_eigenvalue() == pytest.approx(expected, abs=1e-6)
    monkeypatch.setattr(hessian, "ritz_values", None)
    assert Hessian(p).smallest_eigenvalue() == pytest.approx(expected, abs=1e-6)


def test_rounding_below_zero_counts_as_zero():
    p = problem("linear", n=2, l2=0.0, dtype="float32")
    assert torch.linalg.eigvalsh(dense_hessian(p).double())[0] < 1e-7
    assert Hessian(p).smallest_eigenvalue() >= 0


def test_negative_curvature_that_lanczos_did_not_see_is_read_off_the_solution(monkeypatch):
    p = problem("mlp", loss="squared_probability_error", l2=0.0)
    values, vectors_ = torch.linalg.eigh(dense_hessian(p))
    monkeypatch.setattr(Hessian, "smallest_eigenvalue", lambda *_: 1.0)
    for k, found in ((0, 1.0), (-1, 0.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = measured(Hessian(p), vectors_[:, [k]], vectors_[:, [k]], {})
        assert result.info["negative_curvature"] == found
        assert result.residual.item() == pytest.approx(abs(values[k].item() - 1), rel=1e-8)


@pytest.mark.parametrize("name", ["cg", "lissa", "arnoldi"])
def test_long_iterations_tell_their_progress(name):
    shares = []
    p = problem(n=30)
    solve(SOLVERS[name], p, vectors(p), 5.0, Options(progress=shares.append), **SETTINGS[name])
    assert len(shares) > 1 and shares == sorted(shares) and shares[0] > 0 and shares[-1] <= 1


@pytest.mark.parametrize("name", SETTINGS)
def test_every_solver_can_be_cancelled(name):
    def check():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(SOLVERS[name], problem(n=30), vectors(problem()), 5.0, Options(check=check), **SETTINGS[name])
