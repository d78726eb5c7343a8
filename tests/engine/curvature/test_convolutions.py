"""Second and third derivatives of convolutions and poolings against those of torch, and what is left to torch."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from engine.curvature.graphs import pulled_back
from engine.curvature.second_order import twice_differentiable
from engine.models.layout import channels_last
from tests.engine.single_thread import one_thread  # noqa: F401

SETTINGS = {"plain": ({}, {}), "strides": ({"stride": 2, "bias": False}, {"stride": 1}),
            "both ways": ({"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}, {"ceil_mode": True}),
            "by name": ({"padding": "same"}, {"padding": 1, "stride": (2, 1)})}


def network(convolution, pooling):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(4, 6, 3, **convolution), nn.Tanh(), nn.MaxPool2d(2, **pooling),
                         nn.Conv2d(6, 5, (2, 3), padding=1), nn.SiLU(), nn.MaxPool2d((2, 3)), nn.Conv2d(5, 5, 1),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten()).double()


def derivatives(module, x):
    """(∇ℓ, H u of two u at once, of each alone, the derivative of uᵀ H u by θ), flat."""
    leaves, y = list(module.parameters()), torch.arange(len(x))
    torch.manual_seed(1)
    directions = [torch.randn(2, *leaf.shape).double() for leaf in leaves]
    first = torch.autograd.grad(cross_entropy(module(x), y), leaves, create_graph=True)
    both = pulled_back(list(first), leaves, directions)
    each = [torch.autograd.grad(first, leaves, [one[k] for one in directions], create_graph=True) for k in range(2)]
    third = torch.autograd.grad(sum((own * one[0]).sum() for own, one in zip(each[0], directions, strict=True)), leaves)
    return [torch.cat([part.detach().flatten() for part in parts])
            for parts in (first, [own[0] for own in both], [own[1] for own in both], *each, third)]


@pytest.mark.parametrize("laid", [lambda x: x, channels_last], ids=["contiguous", "channels_last"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_derivatives_are_those_of_torch(settings, laid):
    torch.manual_seed(2)
    module, x = network(*settings), laid(torch.randn(3, 4, 16, 18).double())
    expected = derivatives(module, x)
    with twice_differentiable():
        found = derivatives(module, x)
    for own, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(own, theirs, rtol=1e-12, atol=1e-12 * theirs.abs().max().item())


def test_what_is_not_a_plain_batch_is_left_to_torch():
    module, x = network({}, {}), torch.randn(3, 4, 16, 18).double()
    with twice_differentiable():
        one = module[:4](x[0])
        torch.testing.assert_close(one, module[:4](x)[0])
        each = torch.func.vmap(torch.func.grad(lambda row: module(row[None]).sum()))(x)
        values, places = nn.functional.max_pool2d(x, 2, return_indices=True)
        narrow = nn.Conv2d(4, 2, 3)
        with torch.autocast("cpu", torch.bfloat16):
            assert narrow(x.float()).dtype == torch.bfloat16
    assert each.shape == x.shape and values.shape == places.shape


def test_an_error_of_the_model_is_torchs_own():
    with twice_differentiable(), pytest.raises(RuntimeError, match="expected input.* to have 4 channels"):
        nn.Conv2d(4, 2, 3)(torch.randn(2, 3, 8, 8))
