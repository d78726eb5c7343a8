"""Lanczos and the low-rank inverse against dense eigendecompositions."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import arnoldi, eigenpairs
from engine.curvature.lanczos import lanczos, ritz_values
from tests.engine.curvature.networks import close, converged, dense_hessian, problem, solve, vectors


def symmetric(values):
    generator = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(len(values), len(values), generator=generator, dtype=torch.float64)).Q
    return (basis * torch.tensor(values, dtype=torch.float64)) @ basis.T


def test_lanczos_in_full_gives_the_spectrum_and_an_orthonormal_basis():
    matrix = symmetric([-3.0, -1.0, 0.0, 1.0, 2.0, 5.0])
    ritz = lanczos(lambda v: matrix @ v, torch.ones(6, dtype=torch.float64), 10)
    assert close(ritz.values, torch.linalg.eigvalsh(matrix), 1e-12)
    assert close(ritz.basis @ ritz.basis.T, torch.eye(6, dtype=torch.float64), 1e-12)
    vectors_ = ritz.basis.T @ ritz.coordinates
    assert close(matrix @ vectors_, vectors_ * ritz.values, 1e-12)


def test_lanczos_goes_on_where_the_krylov_space_is_exhausted():
    matrix = torch.diag(torch.tensor([2.0, 2.0, 2.0, 7.0, 7.0], dtype=torch.float64))
    ritz = lanczos(lambda v: matrix @ v, torch.ones(5, dtype=torch.float64), 5)
    assert close(ritz.values, torch.tensor([2.0, 2.0, 2.0, 7.0, 7.0], dtype=torch.float64), 1e-12)


def test_lanczos_finds_both_ends_early_and_states_its_residual():
    matrix = symmetric([-4.0, *torch.linspace(-1, 1, 60).tolist(), 9.0])
    ritz = lanczos(lambda v: matrix @ v, torch.ones(62, dtype=torch.float64), 15)
    assert ritz.values[0].item() == pytest.approx(-4, abs=1e-4)
    assert ritz.values[-1].item() == pytest.approx(9, abs=1e-4)
    vectors_ = ritz.basis.T @ ritz.coordinates
    assert close((matrix @ vectors_ - vectors_ * ritz.values).norm(dim=0), ritz.residual, 1e-8)


def test_values_alone_are_those_of_the_full_method_and_stay_within_the_spectrum():
    matrix = symmetric([-4.0, *torch.linspace(-1, 1, 60).tolist(), 9.0])
    start = torch.ones(62, dtype=torch.float64)
    short = ritz_values(lambda v: matrix @ v, start, 12)
    assert close(short, lanczos(lambda v: matrix @ v, start, 12).values, 1e-8)
    long = ritz_values(lambda v: matrix @ v, start, 62)
    assert long[0].item() == pytest.approx(-4, abs=1e-10) and long[-1].item() == pytest.approx(9, abs=1e-10)
    assert len(ritz_values(lambda v: 3 * v, start, 5)) == 1


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_full_rank_gives_the_inverse(damping):
    p = converged()
    matrix = dense_hessian(p) + damping * torch.eye(p.parameters, dtype=torch.float64)
    result = solve(arnoldi.ARNOLDI, p, vectors(p), damping, rank=1000)
    assert close(result.x, torch.linalg.solve(matrix, vectors(p)), 1e-8) and (result.residual < 1e-8).all()
    assert result.info["rank"] == p.parameters


@pytest.mark.filterwarnings("ignore:The Hessian plus")
@pytest.mark.parametrize("loss", ["cross_entropy", "squared_probability_error"])
def test_low_rank_keeps_the_eigenvalues_of_largest_magnitude(loss):
    p = problem("convolutions", n=6, loss=loss, l2=0.0)
    values, eigenvectors = torch.linalg.eigh(dense_hessian(p))
    kept = values.abs().argsort(descending=True)[:8]
    assert (values[kept] < 0).any()
    span = eigenvectors[:, kept]
    expected = span @ ((span.T @ vectors(p)) / (values[kept, None] + 0.5))
    result = solve(arnoldi.ARNOLDI, p, vectors(p), 0.5, rank=8)
    assert result.info["eigenpair_residual"] < 1e-4
    assert close(result.x, expected, 1e-4)
    assert result.info["smallest_eigenvalue"] == pytest.approx(values[0].item(), rel=1e-4)


def test_eigenpairs_serve_every_damping(monkeypatch):
    p = problem(n=30)
    solve(arnoldi.ARNOLDI, p, vectors(p), 3.0, rank=4)
    monkeypatch.setattr(eigenpairs, "lanczos", None)
    assert solve(arnoldi.ARNOLDI, p, vectors(p), 5.0, rank=4).x.isfinite().all()


@pytest.mark.filterwarnings("ignore:The Hessian plus")
def test_an_eigenvalue_that_cancels_the_damping_is_left_out():
    p = problem("mlp", loss="squared_probability_error", l2=0.0)
    smallest = torch.linalg.eigvalsh(dense_hessian(p))[0].item()
    x = solve(arnoldi.ARNOLDI, p, vectors(p), -smallest, rank=1000).x
    assert x.norm() < 1e6 * vectors(p).norm()


def test_impossible_ranks_are_refused():
    p = problem()
    with pytest.raises(InvalidInput, match="at least 1"):
        solve(arnoldi.ARNOLDI, p, vectors(p), 0.1, rank=0)
    with pytest.raises(InvalidInput, match="lower rank"):
        solve(arnoldi.ARNOLDI, p, vectors(p), 0.1, Options(budget=1000))
