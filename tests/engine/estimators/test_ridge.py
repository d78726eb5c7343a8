"""The regularised inverse of features, directly and in its dual form, against the inverse written out."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeCV

from engine.curvature import gram as gram_matrix
from engine.estimators import ridge
from engine.estimators.ridge import generalised_cross_validation, leave_one_out, regularised_inverse
from engine.gradients.scaled import Scaled


@pytest.mark.parametrize(("n", "k"), [(30, 2_100), (300, 20)])
def test_features_that_are_divided_as_they_are_read(n, k):
    """To the last bit, by either side of the duality, and of more columns than are read at once."""
    draw = torch.Generator().manual_seed(0)
    rows, divisors = torch.randn(n, k, generator=draw), -torch.rand(n, generator=draw) - 0.1
    phi, scaled, right = rows / divisors[:, None], Scaled(rows, divisors), torch.randn(4, k, generator=draw).double()
    assert torch.equal(regularised_inverse(scaled, 0.1)(right), regularised_inverse(phi, 0.1)(right))


@pytest.mark.parametrize("columns", [7, 4096])
@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_both_forms_are_the_inverse(shape, columns, monkeypatch):
    """However many columns are held in float64 at a time."""
    monkeypatch.setattr(gram_matrix, "COLUMNS", columns)
    torch.manual_seed(0)
    phi, rows = torch.randn(shape, dtype=torch.float64), torch.randn(5, shape[1], dtype=torch.float64)
    damping = 0.1 * phi.square().sum() / min(shape)
    gram = phi.T @ phi + damping * torch.eye(shape[1], dtype=torch.float64)
    torch.testing.assert_close(regularised_inverse(phi, 0.1)(rows), rows @ torch.linalg.inv(gram))
    mean = torch.linalg.eigvalsh(phi.T @ phi).flip(0)[:min(shape)].mean()
    torch.testing.assert_close(damping, 0.1 * mean)


def noisy(shape=(40, 12)):
    torch.manual_seed(1)
    phi, slope, noise = (torch.randn(size, dtype=torch.float64) for size in (shape, shape[1:], shape[:1]))
    return phi, phi @ slope + 4.0 * noise + 3.0


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_leave_one_out_refits_without_each_example(shape, monkeypatch):
    monkeypatch.setattr(ridge, "TRIED", (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0))
    phi, y = noisy(shape)
    mean, target, errors = phi.square().sum() / min(shape), y - y.mean(), []
    for fraction in ridge.TRIED:
        left = []
        for i in range(len(phi)):
            others = [j for j in range(len(phi)) if j != i]
            gram = phi[others].T @ phi[others] + fraction * mean * torch.eye(shape[1], dtype=torch.float64)
            left.append(target[i] - phi[i] @ torch.linalg.solve(gram, phi[others].T @ target[others]))
        errors.append(torch.stack(left).square().mean().item())
    assert leave_one_out(phi, y) == ridge.TRIED[int(np.argmin(errors))]


def test_the_rules_choose_as_scikit_learn_and_as_the_formula_do():
    phi, y = noisy()
    target, mean = y - y.mean(), phi.square().sum().item() / 12
    fitted = RidgeCV(mean * np.array(ridge.TRIED), fit_intercept=False).fit(phi.numpy(), target.numpy())
    assert leave_one_out(phi, y) == pytest.approx(fitted.alpha_ / mean)
    scores = []
    for fraction in ridge.TRIED:
        smoother = phi @ torch.linalg.solve(phi.T @ phi + fraction * mean * torch.eye(12, dtype=torch.float64), phi.T)
        scores.append(((target - smoother @ target).square().mean() / (1 - smoother.trace() / 40) ** 2).item())
    assert generalised_cross_validation(phi, y) == ridge.TRIED[int(np.argmin(scores))]
