"""Labels and candidates as users hold them: rows are read, everything else is refused in a sentence."""

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.models.mlp import mlp
from engine.problems import ModuleProblem, SoftmaxProblem

X, Y = torch.rand(12, 4), torch.arange(12) % 3


@pytest.mark.parametrize("candidates", [
    np.arange(12) >= 9, [1, 1], [-1, 2], [1.5, 2.5], [12], [[1, 2]], [], torch.arange(12) > 3])
def test_candidates_that_are_no_indices(candidates):
    for make in (lambda: ModuleProblem(mlp((4,), 3), X, Y, X[:2], Y[:2], candidates),
                 lambda: SoftmaxProblem(X, Y, X[:2], Y[:2], candidates),
                 lambda: SoftmaxProblem(X, Y, X[:2], Y[:2]).with_candidates(candidates)):
        with pytest.raises(InvalidInput, match="candidates"):
            make()


@pytest.mark.parametrize("labels", [torch.eye(3)[Y], Y[:, None], Y + 0.5, Y > 0])
def test_labels_that_are_none(labels):
    with pytest.raises(InvalidInput, match="labels have the shape"):
        ModuleProblem(mlp((4,), 3), X, labels, X[:2], Y[:2])


@pytest.mark.parametrize("candidates", [range(3), [0.0, 1.0, 2.0], iter([0, 1, 2]), np.arange(3), torch.arange(3)])
def test_indices_as_people_hold_them(candidates):
    assert SoftmaxProblem(X, Y, X[:2], Y[:2], candidates).candidates.tolist() == [0, 1, 2]
