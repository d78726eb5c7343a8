r"""Root mean square normalisation (Zhang and Sennrich 2019) of transformers' models, by fewer operations.

    y = w ⊙ x/ρ,  ρ = √(mean x² + ε),        ∂/∂x = (s − x·mean(s ⊙ x)/ρ²)/ρ,  s = w ⊙ ∂/∂y

transformers writes it as a chain of eight, each of which autograd keeps the input of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function, forward_ad
from torch.autograd.function import once_differentiable
from torch.nn import functional

from engine.models.precision import at_least_single

WIDTH, ROUNDING = 8, 1e-6
"""Of the rows that a kind of module is tried on, and how far they may be from the formula."""


def with_short_norms(model: nn.Module) -> nn.Module:
    """The model, whose normalisations take the short way in what is differentiated once by their input alone."""
    for module in model.modules():
        kind: Any = type(module)
        if _is_root_mean_square(kind) and not isinstance(module.forward, _Short):
            module.forward = _Short(module, module.forward)
    return model


class _Normed(Function):
    """x (…, d), w (d,), ε -> y, in the precision of x, sums in float32 at least."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        wide = at_least_single(x)
        inverse = torch.linalg.vecdot(wide, wide).div_(x.shape[-1]).add_(epsilon).rsqrt_()[..., None]
        ctx.save_for_backward(x, weight, inverse)
        return (wide * inverse).mul_(weight).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        x, weight, inverse = ctx.saved_tensors
        wide, slope = at_least_single(x), at_least_single(gradient) * weight
        along = torch.linalg.vecdot(slope, wide)[..., None].mul_(inverse.square()).div_(-x.shape[-1])
        return slope.addcmul_(wide, along).mul_(inverse).to(x.dtype), None, None


class _Short:
    """The short way before a module's own forward, the `long` one. A copy of the module has a copy of it."""

    def __init__(self, module: Any, long: Callable[[Tensor], Tensor]) -> None:
        self.module, self.long = module, long

    def __call__(self, x: Tensor) -> Tensor:
        weight, epsilon = self.module.weight, self.module.variance_epsilon
        once = x.requires_grad and torch.is_grad_enabled() and not weight.requires_grad
        if not once or forward_ad.unpack_dual(x).tangent is not None:
            return self.long(x)
        if x.device.type == "cpu":
            return _Normed.apply(x, weight, epsilon)
        with torch.autocast(x.device.type, enabled=False):  # torch's own is one operation there
            return functional.rms_norm(x, x.shape[-1:], weight.to(x.dtype), epsilon)


@cache
def _is_root_mean_square(kind: Any) -> bool:
    """Whether a kind of transformers' modules is this and nothing else, which its answer on some rows tells."""
    if not kind.__name__.endswith("RMSNorm"):
        return False
    try:
        module: Any = kind(WIDTH, 0.25)
        module.weight.data.copy_(torch.arange(1.0, WIDTH + 1))
        rows = torch.linspace(-2, 3, 2 * WIDTH).view(2, WIDTH)
        expected = functional.rms_norm(rows, rows.shape[-1:], module.weight, module.variance_epsilon)
        return torch.allclose(module(rows), expected, rtol=ROUNDING, atol=ROUNDING)
    except (TypeError, AttributeError):  # it is made, or keeps its ε, in another way
        return False
