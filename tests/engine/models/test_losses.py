"""Losses: values and derivatives against float64, also for examples of which a model is sure."""

import math

import pytest
import torch
from torch.func import grad, vmap

from engine.basics.errors import InvalidInput
from engine.models.losses import check_logits, cross_entropy_in_digits, differentiable, per_example_cross_entropy


@pytest.fixture
def sure():
    """Logits (b, C) whose log-odds reach from −40 to 80, and labels (b,)."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(200, 5, generator=generator)
    labels = torch.randint(5, (200,), generator=generator)
    return logits.scatter_add(1, labels[:, None], torch.linspace(-40, 80, 200)[:, None]), labels


def slopes(loss, logits, labels):
    return vmap(grad(lambda f, y: loss(f[None], y[None])[0]))(logits, labels)


def test_the_form_with_digits_is_cross_entropy(sure):
    logits, labels = sure
    double = logits.double()
    torch.testing.assert_close(cross_entropy_in_digits(double, labels), per_example_cross_entropy(double, labels))
    torch.testing.assert_close(slopes(cross_entropy_in_digits, double, labels),
                               slopes(per_example_cross_entropy, double, labels))
    torch.testing.assert_close(cross_entropy_in_digits(logits, labels), per_example_cross_entropy(logits, labels))


@pytest.mark.parametrize("loss", [cross_entropy_in_digits, per_example_cross_entropy])
def test_its_derivative_keeps_its_digits_in_float32(sure, loss):
    logits, labels = sure
    odds = torch.where(torch.arange(5) == labels[:, None], -torch.inf, logits.double())  # p_j = e^{f_j − logsumexp f}
    others = (odds - logits.double().logsumexp(-1, keepdim=True)).exp()
    expected = others.scatter(-1, labels[:, None], -others.sum(-1, keepdim=True))
    error = ((slopes(loss, logits, labels) - expected).norm(dim=1) / expected.norm(dim=1)).max()
    assert error < 1e-4 if loss is cross_entropy_in_digits else error > 0.1


@pytest.mark.parametrize("log_odds", [-40.0, 40.0])
def test_nothing_is_rounded_off_in_double_precision(log_odds):
    """An example that a model is sure to get wrong has a slope of 1 − p_y and a curvature of p_y (1 − p_y)."""
    logits, label = torch.tensor([[0.0, log_odds]], dtype=torch.float64, requires_grad=True), torch.tensor([1])
    pulled, = torch.autograd.grad(cross_entropy_in_digits(logits, label).sum(), logits, create_graph=True)
    bent, = torch.autograd.grad(pulled[0, 1], logits)
    p = math.exp(log_odds) / (1.0 + math.exp(log_odds))
    left = 1.0 / (1.0 + math.exp(log_odds))
    assert pulled[0, 1].item() == pytest.approx(-left, rel=1e-14)
    assert bent[0, 1].item() == pytest.approx(p * left, rel=1e-14)


def test_another_loss_is_differentiated_as_it_is():
    def own(logits, labels):
        return logits.square().sum(-1)

    assert differentiable(own) is own and differentiable(per_example_cross_entropy) is cross_entropy_in_digits


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_probabilities_are_not_taken_as_logits(sure, dtype):
    logits = sure[0].to(dtype)
    with pytest.raises(InvalidInput, match="returns probabilities: .* or the logarithm of its outputs"):
        check_logits(logits.softmax(-1))
    for outputs in (logits, logits.log_softmax(-1), logits.sigmoid(), torch.ones(3, 1, dtype=dtype)):
        check_logits(outputs)
