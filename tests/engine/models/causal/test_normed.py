"""Normalisations by the short way: what transformers' own modules return, and what autograd makes of them."""

import copy

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from transformers.models.gemma2.modeling_gemma2 import Gemma2RMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

from engine.models.causal.normed import with_short_norms


def pair(kind=LlamaRMSNorm, dtype=torch.float64):
    """A module with a frozen weight, and the same the short way."""
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        own = kind(24, 1e-5)
        nn.init.normal_(own.weight, 1.0, 0.3)
        found.append(own.to(dtype).requires_grad_(False))
    return found[0], with_short_norms(found[1])


@pytest.mark.parametrize("kind", [LlamaRMSNorm, Qwen3RMSNorm])
@pytest.mark.parametrize("dtype, rtol", [(torch.float32, 1e-6), (torch.bfloat16, 0.02)])
def test_values_and_gradients_are_those_of_the_long_way(kind, dtype, rtol):
    """transformers rounds to float32 within; so float64 is held to the formula alone, below."""
    long, short = pair(kind, dtype)
    assert type(short) is kind
    x = torch.randn(3, 5, 24).to(dtype).requires_grad_()
    slope = torch.randn(3, 5, 24).to(dtype)
    found, expected = short(x), long(x)
    assert found.dtype == dtype and "Normed" in type(found.grad_fn).__name__
    torch.testing.assert_close(found, expected, rtol=rtol, atol=rtol)
    torch.testing.assert_close(*(torch.autograd.grad(value, x, slope)[0] for value in (found, expected)),
                               rtol=rtol, atol=5 * rtol)


def test_its_derivative_is_that_of_the_formula():
    _, short = pair()
    x = torch.randn(4, 24, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(short, x)


def test_what_is_differentiated_otherwise_takes_the_long_way():
    """Without a derivative, along a direction, or by the weight."""
    long, short = pair(dtype=torch.float32)
    x = torch.randn(2, 24)
    assert torch.equal(short(x), long(x))
    with forward_ad.dual_level():
        moved = [forward_ad.unpack_dual(own(forward_ad.make_dual(x, x.flip(1)))).tangent for own in (short, long)]
    torch.testing.assert_close(*moved)
    short.requires_grad_(True)
    assert "Normed" not in type(short(x.requires_grad_()).grad_fn).__name__


def test_only_what_is_this_normalisation_is_replaced():
    """Gemma adds one to its weights, and torch's own has another name for its ε."""
    model = nn.Sequential(Gemma2RMSNorm(8), nn.RMSNorm(8), nn.LayerNorm(8), LlamaRMSNorm(8))
    kinds = [type(part) for part in model]
    assert ["forward" in vars(part) for part in with_short_norms(model)] == [False, False, False, True]
    forward = model[3].forward
    assert with_short_norms(model)[3].forward is forward and [type(part) for part in model] == kinds


def test_a_copy_reads_its_own_weight():
    _, short = pair(dtype=torch.float32)
    twin, x = copy.deepcopy(short), torch.randn(2, 24, requires_grad=True)
    twin.weight.mul_(2)
    torch.testing.assert_close(twin(x), 2 * short(x))
    doubled = torch.func.functional_call(short, {"weight": 2 * short.weight}, (x,))
    torch.testing.assert_close(doubled, twin(x))
