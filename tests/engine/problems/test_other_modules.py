"""Modules of the kinds that people have: a step of theirs as plain autograd makes it, or a sentence."""

import numpy as np
import pytest
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.problems import ModuleProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})


class Own(nn.Module):
    """A module whose parts are made by one function and used by another."""

    def __init__(self, make, use):
        super().__init__()
        torch.manual_seed(3)
        make(self)
        self.use = use

    def forward(self, x):
        return self.use(self, x)


def shared():
    def make(own):
        own.first = nn.Linear(6, 6)
        own.again, own.head = own.first, nn.Linear(6, 3)

    return Own(make, lambda own, x: own.head(own.again(own.first(x).tanh()).tanh()))


def frozen():
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    module[0].requires_grad_(False)
    return module


def rotated():
    def make(own):
        own.head = nn.Linear(6, 3)
        own.register_buffer("turn", torch.polar(torch.ones(3), torch.arange(3.0)))

    return Own(make, lambda own, x: own.head(torch.view_as_real(
        torch.view_as_complex(x.reshape(-1, 3, 2)) * own.turn).flatten(1)))


def sparse():
    def make(own):
        own.tokens, own.head = nn.Embedding(9, 4, sparse=True), nn.Linear(24, 3)

    return Own(make, lambda own, x: own.head(own.tokens(x.abs().long().clamp(max=8)).flatten(1)))


def tempered():
    """A parameter that is one number, without an axis."""
    return scaled(torch.tensor(0.3))


def scaled(scale):
    def make(own):
        own.head, own.scale = nn.Linear(6, 3), nn.Parameter(scale)

    return Own(make, lambda own, x: own.head(x) * own.scale.exp())


@pytest.mark.parametrize("make", [shared, frozen, rotated, sparse, tempered])
def test_a_step_is_that_of_plain_autograd(make):
    x, y = torch.randn(8, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), torch.arange(8) % 3
    ours = compute(ModuleProblem(make(), x, y, x[:4], y[:4], dtype="float64"), [STEP])[0].values
    module = make().double()
    free = [parameter for parameter in module.parameters() if parameter.requires_grad]

    def likelihoods(rows):
        return -nn.functional.cross_entropy(module(x[rows]), y[rows], reduction="none")

    for row in range(8):
        before = likelihoods([0, 1, 2, 3]).detach()
        slopes = [slope.to_dense() for slope in torch.autograd.grad(likelihoods([row]).sum(), free)]
        with torch.no_grad():
            for parameter, slope in zip(free, slopes, strict=True):
                parameter.add_(slope, alpha=0.1)
            np.testing.assert_allclose(ours[:, row], likelihoods([0, 1, 2, 3]) - before, rtol=0, atol=1e-12)
            for parameter, slope in zip(free, slopes, strict=True):
                parameter.sub_(slope, alpha=0.1)


@pytest.mark.parametrize("estimator", [
    "exact", "cg", "lissa", "arnoldi", "cg_gauss_newton", "ekfac", "tkfac", "shampoo", "astra", "datainf", "logra",
    "factgrass", "trackstar"])
def test_a_parameter_without_an_axis_is_one_with_an_axis_of_one(estimator):
    x, y = torch.randn(12, 6, generator=torch.Generator().manual_seed(0)), torch.arange(12) % 3
    question = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 1.0},
                          estimator)
    alone, within = (compute(ModuleProblem(scaled(one), x, y, x[:4], y[:4], dtype="float64"), [question])[0].values
                     for one in (torch.tensor(0.3), torch.tensor([0.3])))
    np.testing.assert_allclose(alone, within, rtol=1e-9, atol=1e-15)


def _asserted(logits):
    assert len(logits) == 32, "a batch of 32"
    return logits


@pytest.mark.parametrize(("use", "said"), [
    (lambda own, x: own.head(x).softmax(-1), "returns probabilities"),
    (lambda own, x: own.head(x).long(), "numbers of the kind torch.int64"),
    (lambda own, x: torch.view_as_complex(own.head(x).reshape(-1, 3, 1).expand(-1, 3, 2).contiguous()),
     "numbers of the kind torch.complex128"),
    (lambda own, x: torch.utils.checkpoint.checkpoint(lambda z: own.head(z).tanh(), x, use_reentrant=False),
     "No gradient can be taken through the model"),
    (lambda own, x: _asserted(own.head(x)), "does not take inputs of shape .6,.: a batch of 32")])
def test_what_has_no_class_logits_with_gradients_is_refused(use, said):
    x, y = torch.randn(8, 6, dtype=torch.float64), torch.arange(8) % 3
    with pytest.raises(InvalidInput, match=said):
        ModuleProblem(Own(lambda own: setattr(own, "head", nn.Linear(6, 3)), use), x, y, x[:4], y[:4], dtype="float64")
