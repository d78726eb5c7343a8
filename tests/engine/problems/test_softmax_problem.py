"""What a softmax problem keeps of its curvature."""

import pytest
import torch

from engine.models import softmax
from engine.problems import SoftmaxProblem


def made(n, features=5, classes=3):
    random = torch.Generator().manual_seed(0)
    x = torch.randn(n, features, generator=random, dtype=torch.float64)
    y = torch.randint(classes, (n,), generator=random)
    return SoftmaxProblem(x, y, x[:2], y[:2], l2=0.1)


@pytest.mark.parametrize(("n", "kept"), [(7, False), (8, True)])
def test_a_hessian_that_is_soon_built_again_is_not_kept(n, kept):
    problem = made(n)  # of 15 parameters
    built = problem.hessian
    assert (problem.hessian is built) is kept and problem.shared.model.holds("hessian") is kept
    for damping in (0.0, 0.3):
        lower = problem.cholesky(damping)
        torch.testing.assert_close(lower @ lower.T, built + damping * torch.eye(15, dtype=torch.float64))
    assert torch.equal(problem.hessian, built)
    assert problem.curvature_bytes == 15**2 * (8 + 8 * kept + 4)


def test_a_factor_takes_the_place_of_its_matrix():
    dense = made(9).pinned_hessian()
    expected = torch.linalg.cholesky(dense)
    found = softmax.factor(dense)
    assert found.data_ptr() == dense.data_ptr()
    torch.testing.assert_close(found, expected)
