"""ASTRA against the dense Gauss–Newton matrix, over full batches and over mini-batches."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.curvature.astra import ASTRA
from engine.curvature.ekfac import EKFAC
from tests.engine.curvature.networks import close, dense_gauss_newton, problem, solve, vectors

pytestmark = pytest.mark.filterwarnings("ignore:The Hessian plus")


@pytest.mark.parametrize("name", ["mlp", "linear"])
def test_full_batches_converge_to_the_solution(name):
    p = problem(name)
    expected = torch.linalg.solve(dense_gauss_newton(p) + 0.1 * torch.eye(p.parameters, dtype=torch.float64),
                                  vectors(p))
    found = solve(ASTRA, p, vectors(p), 0.1, iterations=1_500, batch_size=10 * p.n)
    assert close(found.x, expected, 1e-7) and (found.residual < 1e-7).all()
    assert found.info["averaged"] == 1 and found.info["scale"] > 0


def test_a_few_mini_batches_bring_ek_fac_nearer_to_the_solution():
    p = problem("mlp", n=60)
    first, found = solve(EKFAC, p, vectors(p), 0.1), solve(ASTRA, p, vectors(p), 0.1, batch_size=30)
    assert found.info["batch_size"] == 30
    assert found.residual.mean() < 0.7 * first.residual.mean()
    again = solve(ASTRA, p, vectors(p), 0.1, batch_size=30)
    assert torch.equal(found.x, again.x)


def test_it_starts_from_ek_fac():
    p = problem("mlp", n=1, parameters=r"^2\.")  # where EK-FAC is the matrix itself
    assert (solve(ASTRA, p, vectors(p), 0.2, iterations=1, averaged=1).residual < 1e-10).all()


def test_settings_without_sense_are_refused():
    p = problem("mlp")
    for settings in ({"averaged": 0}, {"averaged": 99}, {"batch_size": 0}):
        with pytest.raises(InvalidInput, match="ASTRA averages"):
            solve(ASTRA, p, vectors(p), 0.1, **settings)
    p = problem("mlp", l2=0.0)
    with pytest.raises(InvalidInput, match="l2 \\+ damping"):
        solve(ASTRA, p, vectors(p), 0.0)
