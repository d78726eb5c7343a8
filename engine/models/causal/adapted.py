r"""An adapted linear map (Hu et al. 2021) as PEFT has it, by fewer and smaller operations.

    W x + B(s·A x)      the scale on the r numbers of A x, not on all outputs
    (W + s·B A) x       one product instead of three, where outputs alone count
    three products in bfloat16, five for the derivatives, and three where A and B are frozen and a callback is given
    what their derivatives are products of
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from peft.tuners.lora import Linear
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from engine.models.outputs_only import is_outputs_only

Arrived = Callable[[str, Tensor, Tensor], None]
"""(name, input, output gradient) of A or B of a map that a backward pass has reached: `NAME.a` or `NAME.b`, and to
the map itself, which knows no name of its own, `a` or `b`."""


class Adapted(Linear):
    """W x + s·B(A x), the same to rounding, in the precision of all three or in that of autocast. arrived: as
    `streamed` sets it."""

    arrived: Arrived | None = None

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        own, names = self.base_layer.weight, self.active_adapters
        if args or kwargs or self.disable_adapters or self.merged or len(names) != 1 or not self._is_plain(names[0]):
            return super().forward(x, *args, **kwargs)
        a, b, scale = self.lora_A[names[0]], self.lora_B[names[0]], self.scaling[names[0]]
        if torch.is_autocast_enabled(x.device.type):
            if (self.training or self.arrived) and not own.requires_grad:
                return _InAutocast.apply(x, own, self.base_layer.bias, a.weight, b.weight, scale, self.arrived)
            return self.base_layer(x) + b(scale * a(x))
        if not x.dtype == own.dtype == a.weight.dtype:
            return super().forward(x)
        if is_outputs_only():
            return functional.linear(x, torch.addmm(own, b.weight, a.weight, alpha=scale), self.base_layer.bias)
        return self.base_layer(x) + b(scale * a(x))

    def _is_plain(self, name: str) -> bool:
        """Whether the formula holds: of a linear map (out, in), without dropout, biases of its own or a variant."""
        return (type(self.base_layer) is nn.Linear and isinstance(self.lora_dropout[name], nn.Identity)
                and name not in self.lora_variant and not self.lora_bias[name])


class _InAutocast(Function):
    """W x + bias + s·B(A x) in the precision of autocast, of which x, A and B have derivatives: those of A and B where
    they are not frozen. arrived: given what these are products of.

    Products add to what is there and scale it: fewer operations, which are what a GPU waits for with a small model,
    than those that autograd would call one by one.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, a: Tensor, b: Tensor, scale: float,
                arrived: Arrived | None) -> Tensor:
        narrow = torch.get_autocast_dtype(x.device.type)
        rows, w, a, b = (part.to(narrow) for part in (x.flatten(0, -2), weight, a, b))
        low = rows @ a.T
        out = functional.linear(rows, w, None if bias is None else bias.to(narrow)).addmm_(low, b.T, alpha=scale)
        ctx.save_for_backward(rows, w, a, b, low)
        ctx.scale, ctx.kind, ctx.arrived = scale, x.dtype, arrived
        return out.view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, w, a, b, low = ctx.saved_tensors
        scale, (to_x, _, _, to_a, to_b, *_) = ctx.scale, ctx.needs_input_grad
        slope = gradient.flatten(0, -2)
        back = slope @ b
        if ctx.arrived:
            for part, before, after in (("a", rows, scale * back), ("b", scale * low, slope)):
                ctx.arrived(part, *(side.view(*gradient.shape[:-1], -1) for side in (before, after)))
        through = (slope @ w).addmm_(back, a, alpha=scale).to(ctx.kind).view(*gradient.shape[:-1], -1) if to_x else None
        return (through, None, None, _summed(a, back, rows, scale) if to_a else None,
                _summed(b, slope, low, scale) if to_b else None, None, None)


def _summed(like: Tensor, after: Tensor, before: Tensor, scale: float) -> Tensor:
    """s·Σ_t after_t before_tᵀ, as large as `like`, float32."""
    return torch.addmm(like, after.T, before, beta=0, alpha=scale).float()  # beta: nothing is added


@contextmanager
def streamed(model: nn.Module, arrived: Arrived) -> Iterator[None]:
    """Within it `arrived` is called for adapted maps that are computed without a call of their A and B, which hooks on
    these would see."""
    maps = [(name, module) for name, module in model.named_modules() if isinstance(module, Adapted)]
    for name, module in maps:
        module.arrived = partial(_named, arrived, name)
    try:
        yield
    finally:
        for _, module in maps:
            module.arrived = None


def _named(arrived: Arrived, name: str, part: str, x: Tensor, g: Tensor) -> None:
    arrived(f"{name}.{part}", x, g)
