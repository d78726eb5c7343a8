"""LiSSA against its own recursion written out, and against the inverse it approaches."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import Hessian, hessian, lissa
from tests.engine.curvature.networks import close, converged, dense_gauss_newton, dense_hessian, problem, solve, vectors

DENSE = {False: dense_hessian, True: dense_gauss_newton}


def test_paper_settings_are_the_defaults():
    result = solve(lissa.LISSA, problem(n=100), vectors(problem(), 1), 1.0)
    assert {k: result.info[k] for k in ("iterations", "batch_size", "damping", "averaged")} == {
        "iterations": 50, "batch_size": 64, "damping": 1.0, "averaged": 20}
    assert lissa.DAMPING == 0.05


@pytest.mark.parametrize("gauss_newton", [False, True])
@pytest.mark.parametrize("damping, stated", [(0.01, 0.05), (0.2, 0.2)])
def test_recursion_written_out(damping, stated, gauss_newton):
    p = converged()
    rhs = vectors(p, 3)
    result = solve(lissa.LISSA, p, rhs, damping, Options(seed=5), iterations=7, batch_size=10, averaged=3,
                         gauss_newton=gauss_newton)
    sigma, iterates, identity = result.info["scale"], [rhs], torch.eye(p.parameters, dtype=torch.float64)
    generator = torch.Generator().manual_seed(5)
    for _ in range(7):
        rows = torch.randperm(p.n, generator=generator)[:10]
        step = identity - (DENSE[gauss_newton](p, rows) + stated * identity) / sigma
        iterates.append(rhs + step @ iterates[-1])
    assert result.info["damping"] == stated
    assert close(result.x, sum(iterates[-3:]) / (3 * sigma), 1e-10)


def test_many_full_batches_give_the_inverse():
    p = converged()
    matrix = dense_hessian(p) + 0.1 * torch.eye(p.parameters, dtype=torch.float64)
    result = solve(lissa.LISSA, p, vectors(p), 0.1, iterations=300, batch_size=30, averaged=1)
    assert close(result.x, torch.linalg.solve(matrix, vectors(p)), 1e-6)
    assert (result.residual < 1e-6).all() and result.converged.all()


@pytest.mark.parametrize("batch_size", [1, 8])
def test_every_drawn_hessian_contracts(batch_size):
    p = converged()
    batches = lissa.mini_batches(Hessian(p), 20, batch_size)
    found = lissa.largest_curvature(Hessian(p), batches)
    largest = max(torch.linalg.eigvalsh(dense_hessian(p, rows)).abs().max().item() for rows in batches)
    assert 0.7 * largest <= found <= largest * (1 + 1e-9)


def test_the_largest_curvature_is_found_once_for_all_dampings_and_sides(monkeypatch):
    p, found = problem(n=40), []
    whole = lissa.largest_curvature
    monkeypatch.setattr(lissa, "largest_curvature", lambda *given: found.append(whole(*given)) or found[-1])
    first = solve(lissa.LISSA, p, vectors(p, 2), 0.1, batch_size=8)
    again = solve(lissa.LISSA, p, vectors(p, 3), 0.5, batch_size=8)
    assert len(found) == 1
    assert first.info["scale"] - 0.1 == pytest.approx(again.info["scale"] - 0.5) == pytest.approx(found[0])
    for other in ({"options": Options(seed=1)}, {"batch_size": 9}, {"iterations": 60}, {"gauss_newton": True}):
        solve(lissa.LISSA, p, vectors(p, 2), 0.1, **{"batch_size": 8, **other})
    assert len(found) == 5, "other batches and another matrix have their own"


def test_seed_decides_the_batches():
    p = converged()
    a, b, c = (solve(lissa.LISSA, p, vectors(p), 0.1, Options(seed=seed), batch_size=8).x for seed in (0, 0, 1))
    assert torch.equal(a, b) and not close(a, c, 1e-6)
    assert torch.equal(a, solve(lissa.LISSA, p, vectors(p), 0.1, batch_size=8).x)


@pytest.mark.parametrize("settings", [{"averaged": 0}, {"averaged": 51}, {"batch_size": 0}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(InvalidInput, match="LiSSA averages"):
        solve(lissa.LISSA, problem(), vectors(problem()), 0.0, **settings)


@pytest.mark.parametrize(("iterations", "columns", "steps"), [(10, 1, 2), (10, 8, 16), (50, 8, 30), (2, 1, None)])
def test_looking_for_negative_curvature_takes_no_more_products_than_the_series(iterations, columns, steps, monkeypatch):
    p, taken = problem(n=40), []
    found = hessian.ritz_values
    monkeypatch.setattr(hessian, "ritz_values", lambda *given: taken.append(given[2]) or found(*given))
    result = solve(lissa.LISSA, p, vectors(p, columns), 5.0, iterations=iterations, averaged=1, batch_size=8)
    assert taken == ([] if steps is None else [steps])
    assert ("smallest_eigenvalue" in result.info) == (steps is not None)
