"""Curvature in float32 of a network that is sure of all its examples, against the same in float64."""

import pytest
import torch
from torch import nn

from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.hessian import Hessian
from engine.curvature.loss_roots import LossRoots
from engine.models.losses import per_example_cross_entropy
from engine.problems import ModuleProblem
from engine.question.likelihood import bent

N, FEATURES, CLASSES = 24, 5, 4


def sure(labels="its own"):
    """Log-odds from 14 to 35, of the labels that it gives or of what is least likely."""
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, CLASSES))
    x = torch.randn(10 * N, FEATURES)
    with torch.no_grad():
        module[2].weight.mul_(60)
        top = module(x).topk(2, dim=1).values
        x = x[((top[:, 0] - top[:, 1]) > 14) & ((top[:, 0] - top[:, 1]) < 35)][:N]
        logits = module(x)
    y = logits.argmax(1) if labels == "its own" else logits.argmin(1)
    return ModuleProblem(module, x, y, x[:2], y[:2])


@pytest.mark.parametrize("labels", ["its own", "others"])
@pytest.mark.parametrize("operator", [GaussNewton, Hessian])
def test_products_keep_their_digits(operator, labels, monkeypatch):
    problem = sure(labels)
    vectors = torch.randn(problem.parameters, 3, generator=torch.Generator().manual_seed(0))
    expected = operator(problem.double()).matmul(vectors.double())

    def error(asked):
        found = operator(asked).matmul(vectors).double()
        return ((found - expected).norm(dim=0) / expected.norm(dim=0)).max()

    assert error(problem) < 1e-3
    for module in ("engine.models.link", "engine.curvature.graphs"):
        monkeypatch.setattr(f"{module}.differentiable", lambda loss: loss)
    plain = error(sure(labels))
    assert plain > 0.02 if operator is GaussNewton or labels == "its own" else plain < 1e-3


def test_roots_of_the_curvature_are_its_roots():
    problem = sure()
    assert problem.loss is per_example_cross_entropy
    rows, logits = torch.arange(N), problem.outputs(problem.x)
    found = sum(root[:, :, None] * root[:, None] for root in LossRoots(problem)(rows, logits))
    expected = bent(logits.double()[:, None], torch.eye(CLASSES, dtype=torch.float64).expand(N, -1, -1))
    off = (found.double() - expected).abs().amax((1, 2)) / expected.abs().amax((1, 2))
    assert off.max() < 1e-4
