r"""An adapted linear map (Hu et al. 2021) as PEFT has it, by fewer and smaller operations.

    W x + B(s·A x)      the scale on the r numbers of A x, not on all outputs
    (W + s·B A) x       one product instead of three, where outputs alone count
    three products, and five for the derivatives, where A and B are trained in bfloat16
"""

from __future__ import annotations

from typing import Any

import torch
from peft.tuners.lora import Linear
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from engine.models.outputs_only import is_outputs_only


class Adapted(Linear):
    """W x + s·B(A x), the same to rounding, in the precision of all three or in that of autocast."""

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        own, names = self.base_layer.weight, self.active_adapters
        if args or kwargs or self.disable_adapters or self.merged or len(names) != 1:
            return super().forward(x, *args, **kwargs)
        a, b, scale = self.lora_A[names[0]], self.lora_B[names[0]], self.scaling[names[0]]
        if torch.is_autocast_enabled(x.device.type):
            if self.training and not own.requires_grad:
                return _Trained.apply(x, own, self.base_layer.bias, a.weight, b.weight, scale)
            return self.base_layer(x) + b(scale * a(x))
        if not x.dtype == own.dtype == a.weight.dtype:
            return super().forward(x)
        if is_outputs_only():
            return functional.linear(x, torch.addmm(own, b.weight, a.weight, alpha=scale), self.base_layer.bias)
        return self.base_layer(x) + b(scale * a(x))


class _Trained(Function):
    """W x + bias + s·B(A x) in the precision of autocast, of which x, A and B have derivatives.

    Products add to what is there and scale it: fewer operations, which are what a GPU waits for with a small model,
    than those that autograd would call one by one.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, a: Tensor, b: Tensor, scale: float) -> Tensor:
        narrow = torch.get_autocast_dtype(x.device.type)
        rows, w, a, b = (part.to(narrow) for part in (x.flatten(0, -2), weight, a, b))
        low = rows @ a.T
        out = functional.linear(rows, w, None if bias is None else bias.to(narrow)).addmm_(low, b.T, alpha=scale)
        ctx.save_for_backward(rows, w, a, b, low)
        ctx.scale, ctx.kinds = scale, (x.dtype, ctx.needs_input_grad[0])
        return out.view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, Tensor, Tensor, None]:
        rows, w, a, b, low = ctx.saved_tensors
        scale, (kind, asked) = ctx.scale, ctx.kinds
        slope = gradient.flatten(0, -2)
        back = slope @ b
        to_x = (slope @ w).addmm_(back, a, alpha=scale).to(kind).view(*gradient.shape[:-1], -1) if asked else None
        to_a, to_b = (torch.addmm(like, after.T, before, beta=0, alpha=scale).float()  # beta: nothing is added
                      for like, after, before in ((a, back, rows), (b, slope, low)))
        return to_x, None, None, to_a, to_b, None


def with_short_passes(model: nn.Module) -> nn.Module:
    """The model, whose adapted linear maps are `Adapted` now."""
    for module in model.modules():
        if type(module) is Linear:
            module.__class__ = Adapted  # which adds no state; PEFT has no public way to choose the class
    return model
