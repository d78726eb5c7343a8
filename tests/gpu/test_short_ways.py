"""What takes another way on a GPU than on the processor: sketches, normalisations, adapters, gradients of records."""

import copy

import pytest
import torch
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from engine.applications.language.gradients import products
from engine.gradients.projectors import CountSketch
from engine.models.causal import loading, lora
from engine.models.causal.adapted import Adapted
from engine.models.causal.attending import attended
from engine.models.causal.normed import with_short_norms
from engine.models.causal.padding import Padding
from engine.models.causal.recipe import FineTuning


def test_a_sketch_is_the_same_sum(device):
    here = CountSketch.draw((5_000, 300), 64, (1, 2), torch.device("cpu"))
    there = CountSketch(here.matrix.to(device))
    x = torch.randn(7, 5_300)
    added = sum(map(CountSketch.once, x.split((5_000, 300), 1), (64, 64), (1, 2)))
    for found in (here(x), there(x.to(device)).cpu()):
        torch.testing.assert_close(found, added, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype, rtol", [(torch.float32, 1e-5), (torch.bfloat16, 0.02)])
def test_a_normalisation_and_its_derivative(device, dtype, rtol):
    own = LlamaRMSNorm(48, 1e-5).requires_grad_(False)
    own.weight.normal_(1.0, 0.3)
    x, slope = torch.randn(2, 9, 48), torch.randn(2, 9, 48)
    found = []
    for module, place, kind in ((own, "cpu", torch.float32), (with_short_norms(copy.deepcopy(own)), device, dtype)):
        rows = x.to(place, kind).requires_grad_()
        with torch.autocast(torch.device(place).type, torch.bfloat16, enabled=kind == torch.bfloat16):
            value = module.to(place, kind)(rows)
        assert value.dtype == kind
        found.append((value, torch.autograd.grad(value, rows, slope.to(place, kind))[0]))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other.cpu().float(), one, rtol=rtol, atol=5 * rtol)


def test_an_adapter_in_training(device):
    """In bfloat16 there, in float32 on the processor."""
    model = lora.attach(loading.load("World-0.4M")[0], FineTuning())
    here = next(part for part in model.modules() if isinstance(part, Adapted)).train()
    here.base_layer.requires_grad_(False)
    torch.nn.init.normal_(here.lora_B["default"].weight, 0.0, 0.1)
    there = copy.deepcopy(here).to(device)
    there.base_layer.to(torch.bfloat16)
    x, slope = torch.randn(3, 4, here.in_features), torch.randn(3, 4, here.out_features)
    found = []
    for layer, place in ((here, "cpu"), (there, device)):
        rows, narrow = x.to(place).requires_grad_(), layer is there
        with torch.autocast(torch.device(place).type, torch.bfloat16, enabled=narrow):
            value = layer(rows)
        asked = [rows, layer.lora_A["default"].weight, layer.lora_B["default"].weight]
        found.append([value, *torch.autograd.grad(value, asked, slope.to(value))])
    for one, other in zip(*found, strict=True):
        assert (other.cpu().float() - one).norm() < 0.01 * one.norm()


def test_masked_attention_has_finite_derivatives(device):
    """Rows of padding that attend to nothing, and as many tokens as cuDNN's kernel fails at."""
    tokens, padding = 64, 5
    seen = torch.ones(tokens, tokens, dtype=torch.bool).tril()
    seen[:, :padding] = False
    rows = [torch.randn(2, 3, tokens, 32) for _ in range(3)]
    slope = torch.randn(2, tokens, 3, 32)
    slope[:, :padding] = 0
    found = []
    for place, kind in (("cpu", torch.float32), (device, torch.bfloat16)):
        q, k, v = (row.to(place, kind).requires_grad_() for row in rows)
        value, _ = attended(torch.nn.Module(), q, k, v, seen.to(place)[None, None])
        found.append([value[:, padding:], *torch.autograd.grad(value, (q, k, v), slope.to(place, kind))])
    for one, other in zip(*found, strict=True):
        assert (other.cpu().float() - one).norm() < 0.02 * one.norm()


def test_gradients_of_records_without_padding(device):
    before, after = torch.randn(12, 5), torch.randn(12, 3)
    lengths = (4, 1, 7)
    torch.testing.assert_close(
        products(before.to(device), after.to(device), Padding(lengths, torch.device(device)), together=True).cpu(),
        products(before, after, Padding(lengths, before.device), together=False), rtol=1e-5, atol=1e-5)
