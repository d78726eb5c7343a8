"""Newton steps and stretches of L-BFGS: known minima, a start where the function is not convex, and no minimum."""

from functools import partial

import pytest
import torch
from torch.func import grad, hessian

from engine.exact.newton_cg import descend

DOUBLE = torch.float64


def followed(function, start, **options):
    """`descend` with derivatives by autograd."""
    found = descend(lambda theta: (function(theta).item(), grad(function)(theta)),
                    lambda theta: partial(torch.matmul, hessian(function)(theta)),
                    torch.as_tensor(start, dtype=DOUBLE), **{"tolerance": 1e-13, "passes": 2_000, **options})
    return found


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2).square() + (1.0 - x[:-1]).square()).sum()


@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.0] * 10, [2.0, -3.0, 1.0, 4.0]])
def test_rosenbrock_to_the_last_digits(start):
    found = followed(rosenbrock, start)
    torch.testing.assert_close(found.theta, torch.ones(len(start), dtype=DOUBLE), rtol=0, atol=1e-11)
    assert found.gradient_norm <= 1e-13 and found.evaluations < 2_000


def test_a_saddle_and_its_negative_curvature_are_left():
    """(x² − 1)² + y² from next to its saddle at 0."""
    found = followed(lambda x: (x[0] ** 2 - 1).square() + x[1] ** 2, [1e-3, 0.5])
    torch.testing.assert_close(found.theta, torch.tensor([1.0, 0.0], dtype=DOUBLE), rtol=0, atol=1e-12)


@pytest.mark.parametrize("start", [[0.0, 0.5], [0.0, 0.0]])
def test_a_saddle_where_the_gradient_vanishes_is_left_too(start):
    """On the ridge x = 0 all gradients point along y."""
    found = followed(lambda x: (x[0] ** 2 - 1).square() + x[1] ** 2, start)
    torch.testing.assert_close(found.theta.abs(), torch.tensor([1.0, 0.0], dtype=DOUBLE), rtol=0, atol=1e-12)
    assert not found.saddle


def test_one_negative_eigenvalue_among_hundred_is_met():
    """It is a hundredth of the mean curvature, and the start has nothing of its eigenvector."""
    scales = torch.linspace(0.5, 2, 100, dtype=DOUBLE)
    scales[37] = -0.01
    found = followed(lambda x: 0.5 * (scales * x.square()).sum() + 0.25 * x[37] ** 4, [0.0] * 100)
    assert found.theta[37].abs().item() == pytest.approx(0.1, abs=1e-6)
    assert not found.saddle and found.value < -1e-5


def test_a_saddle_that_cannot_be_left_is_said():
    """x² − y² is said to fall along y, but what is evaluated is x² + y⁴."""
    found = descend(lambda x: (x[0].square() + x[1] ** 4, torch.stack([2 * x[0], 0 * x[1]])),
                    lambda x: partial(torch.matmul, torch.diag(torch.tensor([2.0, -2.0], dtype=DOUBLE))),
                    torch.zeros(2, dtype=DOUBLE), tolerance=1e-13, passes=100)
    assert found.saddle and found.gradient_norm == 0


@pytest.mark.parametrize("precondition", [None, lambda vectors: vectors])
def test_a_flat_direction_is_no_saddle(precondition):
    turn = torch.linalg.qr(torch.randn(6, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(1)))[0]
    scales = torch.tensor([0.0, 0.0, 1.0, 2.0, 3.0, 50.0], dtype=DOUBLE)
    found = followed(lambda x: 0.5 * (scales * (turn @ x - 1).square()).sum(), [0.3] * 6, precondition=precondition)
    assert not found.saddle and found.gradient_norm < 1e-12


def test_an_ill_conditioned_quadratic_needs_few_steps():
    scales = torch.logspace(0, -6, 12, dtype=DOUBLE)
    found = followed(lambda x: 0.5 * (scales * x.square()).sum() - x.sum(), [0.0] * 12, tolerance=1e-10)
    torch.testing.assert_close(found.theta, 1 / scales, rtol=1e-3, atol=0)
    assert found.iterations <= 6


def test_a_preconditioner_saves_products():
    scales = torch.logspace(0, -6, 40, dtype=DOUBLE)

    def function(x):
        return 0.5 * (scales * x.square()).sum() - x.sum() + 1e-3 * x[0] ** 4

    plain, helped = (followed(function, [0.0] * 40, tolerance=1e-9, precondition=given)
                     for given in (None, lambda vectors: vectors / scales[:, None]))
    assert helped.gradient_norm <= 1e-9 and helped.evaluations < plain.evaluations / 2


def test_it_ends_where_there_is_no_minimum_and_where_passes_are_used_up():
    away = followed(lambda x: -x.sum(), [0.0], passes=50)
    assert away.evaluations < 500 and not away.gradient_norm <= 1e-13
    short = followed(rosenbrock, [-1.2, 1.0], passes=3)
    assert short.gradient_norm > 1e-13
    assert not followed(lambda x: x.sqrt().sum(), [-1.0]).finite


def test_a_kink_ends_it():
    found = followed(lambda x: x.abs().sum() + 0.5 * x.square().sum(), [0.3, -0.7], tolerance=1e-10)
    assert found.theta.abs().max() < 1e-2 and found.evaluations < 2_000
