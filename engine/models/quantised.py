r"""Linear maps whose frozen weights bitsandbytes holds in 4 or 8 bits (Dettmers et al. 2022, 2023).

    y = x Ŵᵀ + b,   Ŵ (out, in): the weights that the stored numbers stand for, made anew at every pass

    4 bits: Ŵ = table[code] · s, a scale s for each block of 64 or so weights, whichever table: NF4 or FP4
    8 bits: Ŵ = code · s / 127, a scale s for each row

Ŵ is constant: a pass holds that of one map at a time, forwards and backwards. bitsandbytes itself computes y so where
it trains; with 8 bits, or with bfloat16 on a CPU, it rounds x too where it only reads, which has no derivative.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional

from engine.basics.errors import InvalidInput


class QuantisedLinear(nn.Linear):
    """A map with frozen weights. codes: uint8 of two weights each, in whole blocks, or int8 (out, in). scales: of
    blocks, or of rows. table: (16,), what a 4-bit number stands for; None with 8 bits."""

    codes: Tensor
    scales: Tensor
    pairs: Tensor | None

    def __init__(self, shape: tuple[int, int], codes: Tensor, scales: Tensor, table: Tensor | None,
                 bias: nn.Parameter | None) -> None:
        super().__init__(shape[1], shape[0], bias=False, device="meta")
        del self.weight
        self.register_parameter("bias", bias)
        pairs = None if table is None else torch.cartesian_prod(table, table)  # the first of two is in the high bits
        for name, value in (("codes", codes), ("scales", scales), ("pairs", pairs)):
            self.register_buffer(name, value)

    @property
    def weight(self) -> Tensor:  # type: ignore[override]
        """Ŵ (out, in), in the precision of the scales."""
        if self.pairs is None:
            return self.codes * self.scales[:, None]
        blocks = self.pairs.index_select(0, self.codes.int()).view(len(self.scales), -1) * self.scales[:, None]
        return blocks.flatten()[:self.out_features * self.in_features].view(self.out_features, self.in_features)

    def forward(self, x: Tensor) -> Tensor:
        kind = x.device.type
        x = x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x
        y = _Product.apply(x, lambda: self.weight.to(x.dtype), False)
        return y if self.bias is None else y + self.bias.to(y.dtype)


class _Product(Function):
    """x Ŵᵀ, or x Ŵ: linear in x, so that each derivative is another such product."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Callable[[], Tensor], back: bool) -> Tensor:
        return x @ weight() if back else functional.linear(x, weight())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.weight, ctx.back = inputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _Product.apply(gradient, ctx.weight, not ctx.back), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> Tensor:
        return _Product.apply(tangent, ctx.weight, ctx.back)


def read_quantised(module: nn.Module) -> nn.Module:
    """The module with a `QuantisedLinear` in place of every map of bitsandbytes; changed, not copied.

    Raises `InvalidInput` for weights that a pass on a CPU has reordered.
    """
    if "bitsandbytes" not in sys.modules:  # then there is none
        return module
    from bitsandbytes.nn import Linear4bit, Linear8bitLt

    for parent in [*module.modules()]:
        for name, part in [*parent.named_children()]:
            if isinstance(part, Linear4bit):
                setattr(parent, name, _of_4_bits(part))
            elif isinstance(part, Linear8bitLt):
                setattr(parent, name, _of_8_bits(part))
    return module


def _of_4_bits(part: Any) -> QuantisedLinear:
    from bitsandbytes.functional import dequantize_blockwise

    state = part.weight.quant_state
    if vars(state).get("packing_format_for_cpu"):
        raise InvalidInput("The 4-bit weights of the model were reordered by bitsandbytes when it first generated "
                           "text on this CPU; load it again and give it before that.")
    scales = dequantize_blockwise(state.absmax, state.state2) + state.offset if state.nested else state.absmax
    codes = part.weight.data.view(torch.uint8).flatten()
    filled = functional.pad(codes, (0, len(scales) * state.blocksize // 2 - len(codes)))  # the last block
    return QuantisedLinear(tuple(state.shape), filled, scales.float(), state.code.float(), part.bias)


def _of_8_bits(part: Any) -> QuantisedLinear:
    codes, scales = part.weight.data, part.weight.SCB if part.state.SCB is None else part.state.SCB
    return QuantisedLinear(tuple(codes.shape), codes, scales.float() / 127.0, None, part.bias)
