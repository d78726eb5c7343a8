r"""An adapted linear map (Hu et al. 2021) as PEFT has it, by fewer and smaller operations.

    W x + B(s·A x)      the scale on the r numbers of A x, not on all outputs
    (W + s·B A) x       one product instead of three, where outputs alone count
"""

from __future__ import annotations

from typing import Any

import torch
from peft.tuners.lora import Linear
from torch import Tensor, nn
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
            return self.base_layer(x) + b(scale * a(x))
        if not x.dtype == own.dtype == a.weight.dtype:
            return super().forward(x)
        if is_outputs_only():
            return functional.linear(x, torch.addmm(own, b.weight, a.weight, alpha=scale), self.base_layer.bias)
        return self.base_layer(x) + b(scale * a(x))


def with_short_passes(model: nn.Module) -> nn.Module:
    """The model, whose adapted linear maps are `Adapted` now."""
    for module in model.modules():
        if type(module) is Linear:
            module.__class__ = Adapted  # which adds no state; PEFT has no public way to choose the class
    return model
