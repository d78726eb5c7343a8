"""Adapted linear maps: the same outputs by the short way, which gradients and hooks do not take."""

import copy

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from engine.models.causal import loading, lora
from engine.models.causal.adapted import Adapted
from engine.models.causal.recipe import FineTuning
from engine.models.double import keep_double
from engine.models.outputs_only import is_outputs_only, outputs_only


@pytest.fixture(scope="module")
def model():
    """The embedded model with adapters that do something."""
    found = lora.attach(loading.load("World-0.4M")[0], FineTuning())
    lora.renew(found, 0)
    with torch.no_grad():
        for layer in lora.layers(found):
            layer.b.weight.normal_(0.0, 0.1)
    return found.eval()


@pytest.mark.parametrize("dtype, rtol", [(torch.float64, 1e-12), (torch.float32, 1e-4)])
def test_outputs_are_those_of_the_long_way(model, dtype, rtol):
    own = copy.deepcopy(model).to(dtype)
    ids = torch.randint(5, 300, (3, 20), generator=torch.Generator().manual_seed(0))
    if dtype == torch.float64:
        keep_double(own, ids)  # its norms would round to float32, which may turn a last bit into one of theirs
    with torch.no_grad():
        long = own(ids).logits
    with outputs_only():
        assert is_outputs_only() and not torch.is_grad_enabled()
        short = own(ids).logits
    assert not is_outputs_only() and sum(isinstance(part, Adapted) for part in own.modules()) == len(lora.layers(own))
    assert long.dtype == dtype
    torch.testing.assert_close(short, long, rtol=rtol, atol=rtol)


def test_transposed_weights_are_left_to_peft():
    """GPT-2 keeps W as (in, out)."""
    from transformers import GPT2Config, GPT2LMHeadModel

    own = lora.attach(GPT2LMHeadModel(GPT2Config(vocab_size=30, n_positions=8, n_embd=16, n_layer=1, n_head=2)),
                      FineTuning(targets="c_attn,c_proj")).eval()
    for layer in lora.layers(own):
        torch.nn.init.normal_(layer.b.weight)
    ids = torch.arange(6)[None]
    with torch.no_grad():
        long = own(ids).logits
    with outputs_only():
        torch.testing.assert_close(own(ids).logits, long)


def test_hooks_within_see_every_pass_that_is_not_for_outputs_alone(model):
    seen, ids = [], torch.tensor([[7, 8, 9]])
    handle = lora.layers(model)[0].a.register_forward_hook(lambda *_: seen.append(1))
    try:
        with torch.no_grad():
            model(ids)
        assert seen == [1]
        with outputs_only():
            model(ids)
        assert seen == [1]
    finally:
        handle.remove()


def test_another_precision_takes_the_long_way(model):
    """Adapters in float32 beside weights in bfloat16, as on a GPU: PEFT says how they are added."""
    own = copy.deepcopy(model)
    for layer in own.modules():
        if isinstance(layer, Adapted):
            layer.base_layer.to(torch.bfloat16)
    layer = next(part for part in own.modules() if isinstance(part, Adapted))
    x = torch.randn(2, layer.in_features, dtype=torch.bfloat16)
    with outputs_only():
        short = layer(x)
    with torch.no_grad():
        assert torch.equal(short, layer(x))


@pytest.mark.parametrize("scaling", [32.0, 7.0])
def test_outputs_and_gradients_are_those_of_peft(model, scaling):
    own = copy.deepcopy(model).double()
    layer = next(part for part in own.modules() if isinstance(part, Adapted))
    layer.scaling["default"] = scaling / 16
    x = torch.randn(4, 3, layer.in_features, dtype=torch.float64, requires_grad=True)
    trained = [x, layer.lora_A["default"].weight, layer.lora_B["default"].weight]
    found, expected = layer(x), super(Adapted, layer).forward(x)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-13)
    for one, other in zip(*(torch.autograd.grad(value.square().sum(), trained) for value in (found, expected)),
                          strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)


def trained_layer(model, scaling=7.0, bias=False):
    """A layer in training, whose own weight is frozen and bfloat16, and what of it has a derivative."""
    layer = copy.deepcopy(next(part for part in model.modules() if isinstance(part, Adapted))).train()
    layer.scaling["default"] = scaling / 16
    if bias:
        layer.base_layer.bias = torch.nn.Parameter(torch.randn(layer.out_features))
    layer.base_layer.to(torch.bfloat16).requires_grad_(False)
    return layer, [layer.lora_A["default"].weight, layer.lora_B["default"].weight]


@pytest.mark.parametrize("bias", [False, True])
def test_what_is_trained_in_bfloat16_has_the_gradients_of_float32(model, bias):
    layer, weights = trained_layer(model, bias=bias)
    x = torch.randn(4, 3, layer.in_features, requires_grad=True)
    slope = torch.randn(4, 3, layer.out_features)
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(x)
    assert found.dtype == torch.bfloat16 and "InAutocast" in type(found.grad_fn).__name__
    wide = copy.deepcopy(layer).float()
    expected = super(Adapted, wide).forward(x)
    others = [wide.lora_A["default"].weight, wide.lora_B["default"].weight]
    pairs = [(found.float(), expected), *zip(torch.autograd.grad(found, [x, *weights], slope.bfloat16()),
                                             torch.autograd.grad(expected, [x, *others], slope), strict=True)]
    for one, other in pairs:
        assert one.dtype == torch.float32 and one.shape == other.shape
        assert (one - other).norm() < 0.01 * other.norm()


def test_a_layer_in_training_asks_for_few_operations(model):
    """A GPU waits for each: three casts, three products; five products and three casts in its backward pass."""
    layer, weights = trained_layer(model)
    x = torch.randn(4, 3, layer.in_features, requires_grad=True)
    with Counted() as forward, torch.autocast("cpu", torch.bfloat16):
        found = layer(x)
    with Counted() as backward:
        found.sum().backward()
    assert forward.calls <= 6 and backward.calls <= 12, (forward.calls, backward.calls)
    assert all(weight.grad is not None for weight in weights)


class Counted(TorchDispatchMode):
    """Counts the operations that compute, which is all but views."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.calls += not operation.is_view and operation.name() not in ("aten::detach", "aten::_unsafe_view")
        return operation(*args, **(kwargs or {}))
