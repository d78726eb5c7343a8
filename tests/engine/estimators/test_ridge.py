"""The regularised inverse of features, directly and in its dual form, against the inverse written out."""

import pytest
import torch

from engine.estimators.ridge import regularised_inverse


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_both_forms_are_the_inverse(shape):
    torch.manual_seed(0)
    phi, rows = torch.randn(shape, dtype=torch.float64), torch.randn(5, shape[1], dtype=torch.float64)
    damping = 0.1 * phi.square().sum() / min(shape)
    gram = phi.T @ phi + damping * torch.eye(shape[1], dtype=torch.float64)
    torch.testing.assert_close(regularised_inverse(phi, 0.1)(rows), rows @ torch.linalg.inv(gram))
    mean = torch.linalg.eigvalsh(phi.T @ phi).flip(0)[:min(shape)].mean()
    torch.testing.assert_close(damping, 0.1 * mean)
