"""L-BFGS on functions whose minima are known, near the end of the digits, and where there is no minimum."""

import math

import pytest
import torch
from scipy.optimize import rosen, rosen_der

from engine.exact.lbfgs import minimise

DOUBLE = torch.float64


def counted(function):
    """(evaluate by autograd, the list of points at which it was called)."""
    points = []

    def evaluate(theta):
        points.append(theta)
        leaf = theta.clone().requires_grad_(True)
        value = function(leaf)
        return value.item(), torch.autograd.grad(value, leaf)[0]

    return evaluate, points


def quadratic(n=8, condition=1e4, dtype=DOUBLE):
    generator = torch.Generator().manual_seed(2)
    basis, _ = torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=DOUBLE))
    matrix = (basis * torch.logspace(0, -math.log10(condition), n, dtype=DOUBLE)) @ basis.T
    linear = torch.randn(n, generator=generator, dtype=DOUBLE)
    matrix, linear = matrix.to(dtype), linear.to(dtype)
    return lambda x: 0.5 * x @ matrix @ x - linear @ x, torch.linalg.solve(matrix.double(), linear.double())


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e-9, 1e6])
def test_quadratic_at_any_scale(scale):
    function, solution = quadratic()
    evaluate, points = counted(lambda x: scale * function(x))
    found = minimise(evaluate, torch.zeros(8, dtype=DOUBLE), iterations=200, tolerance=scale * 1e-11)
    assert found.gradient_norm <= scale * 1e-11 and found.iterations < 200 and found.finite
    torch.testing.assert_close(found.theta, solution, rtol=1e-6, atol=1e-6)
    assert found.evaluations == len(points) < 2 * found.iterations + 20


def test_a_small_tilt_under_a_large_constant_is_followed():
    """The minimum lies 1e-18 below the start, and the value is 1000: slopes alone lead there."""
    function, solution = quadratic(condition=100.0)
    evaluate, _ = counted(lambda x: 1e3 + 1e-9 * function(x * 1.0))
    found = minimise(evaluate, torch.zeros(8, dtype=DOUBLE), iterations=200, tolerance=1e-16)
    torch.testing.assert_close(found.theta, solution, rtol=1e-5, atol=1e-5)


def test_rosenbrock_in_ten_dimensions():
    def evaluate(theta):
        return float(rosen(theta.numpy())), torch.as_tensor(rosen_der(theta.numpy()))

    found = minimise(evaluate, torch.zeros(10, dtype=DOUBLE), iterations=500, tolerance=1e-9)
    torch.testing.assert_close(found.theta, torch.ones(10, dtype=DOUBLE), rtol=1e-7, atol=1e-7)
    assert found.evaluations < 200  # SciPy's L-BFGS-B takes about 70


def test_every_iteration_lowers_the_value():
    evaluate, _ = counted(lambda x: (x.square() + 3 * x.cos()).sum())
    start = torch.linspace(-3, 4, 9, dtype=DOUBLE)
    values = [minimise(evaluate, start, iterations=count, tolerance=0.0).value for count in range(8)]
    assert all(after < before for before, after in zip(values, values[1:], strict=False))


def test_single_precision_ends_where_its_digits_do():
    function, solution = quadratic(condition=100.0, dtype=torch.float32)
    evaluate, points = counted(function)
    found = minimise(evaluate, torch.zeros(8), iterations=1000, tolerance=0.0)
    torch.testing.assert_close(found.theta.double(), solution, rtol=1e-3, atol=1e-3)
    assert found.gradient_norm < 1e-5 and found.theta.dtype == torch.float32


def test_what_is_known_of_the_start_is_not_computed_again():
    function, _ = quadratic()
    evaluate, points = counted(function)
    start = torch.ones(8, dtype=DOUBLE)
    initial = evaluate(start)
    again = minimise(evaluate, start, iterations=5, tolerance=0.0, initial=initial)
    alone = minimise(evaluate, start, iterations=5, tolerance=0.0)
    assert torch.equal(again.theta, alone.theta) and alone.evaluations == again.evaluations + 1
    assert torch.equal(start, torch.ones(8, dtype=DOUBLE))


def test_at_a_minimum_nothing_moves():
    function, solution = quadratic(condition=10.0)
    evaluate, _ = counted(function)
    found = minimise(evaluate, solution, iterations=5, tolerance=1e-10)
    assert found.iterations == 0 and torch.equal(found.theta, solution)


def test_a_function_without_minimum_ends_and_says_so():
    evaluate, _ = counted(lambda x: -x.exp().sum())
    found = minimise(evaluate, torch.zeros(2, dtype=DOUBLE), iterations=50, tolerance=0.0)
    assert found.iterations <= 50 and found.value < -1.0
    evaluate, _ = counted(lambda x: x.log().sum())
    assert not minimise(evaluate, -torch.ones(2, dtype=DOUBLE), iterations=5, tolerance=0.0).finite


def test_a_wall_is_backed_away_from():
    """√x has no value below 0: the first trial leaves the domain, and the search comes back."""
    evaluate, _ = counted(lambda x: (x.sqrt() + 1 / x + 100 * x).sum())
    found = minimise(evaluate, torch.full((1,), 5.0, dtype=DOUBLE), iterations=60, tolerance=1e-9)
    assert found.finite and found.gradient_norm <= 1e-9
