"""Systems that are solved by a factor: against `torch.cholesky_solve`, and without a copy of the factor."""

import pytest
import torch

from engine.models.linear_solvers import by_factor

SIZE = 300


@pytest.fixture(scope="module")
def matrix():
    root = torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return root @ root.T + SIZE * torch.eye(SIZE, dtype=torch.float64)


@pytest.mark.parametrize("columns", [1, 7])
@pytest.mark.parametrize("by_columns", [True, False], ids=["by columns", "by rows"])
def test_both_substitutions(matrix, columns, by_columns):
    factor = torch.linalg.cholesky(matrix)
    factor = factor.mT.contiguous().mT if by_columns else factor.contiguous()
    rhs = matrix[:, :columns] / 3
    found = by_factor(factor, rhs)
    assert torch.allclose(found, torch.cholesky_solve(rhs, factor), rtol=1e-12, atol=1e-13)
    assert torch.allclose(matrix @ found, rhs, rtol=1e-10)


def test_the_factor_is_not_copied(matrix):
    factor = torch.linalg.cholesky(matrix).mT.contiguous().mT

    def allocated(solve):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
            solve()
        return sum(max(0, event.self_cpu_memory_usage) for event in seen.events())

    rhs = matrix[:, :1].clone()
    assert allocated(lambda: by_factor(factor, rhs)) < factor.nbytes / 10
    assert allocated(lambda: torch.cholesky_solve(rhs, factor)) > factor.nbytes / 2
