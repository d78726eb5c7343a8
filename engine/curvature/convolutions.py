r"""Convolution and maximum pooling of batches on a CPU, with second derivatives as fast as the first.

With y = W ∗ x and ḡ the derivative at y, the gradients x̄ = Wᵀ ∗ ḡ and W̄ = Σ x ⊗ ḡ are bilinear, so that for the
derivatives u_x, u_W, u_b at x̄, W̄ and b̄

    ∂/∂ḡ = W ∗ u_x + u_W ∗ x + u_b,     ∂/∂x = u_Wᵀ ∗ ḡ,     ∂/∂W = Σ u_x ⊗ ḡ

are passes of the same convolution. torch builds the last as a convolution with the image as its kernel, and for the
second derivative of a pooling copies its input into another layout.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

Settings = tuple[Any, ...]
"""Of a convolution stride, padding, dilation, groups; of a pooling kernel, stride, padding, dilation, whether a last
incomplete window counts. A number for both directions, or one each."""


def convolved(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
              dilation: Any = 1, groups: int = 1) -> Tensor:
    """`torch.conv2d` of x (b, c, h, w)."""
    if not isinstance(padding, str) and _fits(x):
        result = _applied(_Convolution, x, weight, bias, (_pair(stride), _pair(padding), _pair(dilation), groups))
        if result is not None:
            return result
    return torch.conv2d(x, weight, bias, stride, padding, dilation, groups)


def pooled(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
           ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """`torch.nn.functional.max_pool2d` of x (b, c, h, w)."""
    if not return_indices and _fits(x):
        step = kernel_size if stride is None else stride
        result = _applied(_Pooling, x, (_pair(kernel_size), _pair(step), _pair(padding), _pair(dilation), ceil_mode))
        if result is not None:
            return result
    plain: Any = functional.max_pool2d
    return plain(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _fits(x: Tensor) -> bool:
    """Whether this is a batch on a CPU, in one precision."""
    return x.ndim == 4 and x.device.type == "cpu" and not torch.is_autocast_enabled("cpu")


def _applied(function: type[Function], *given: Any) -> Tensor | None:
    """Its value; None under a transform of `torch.func`, which does not know it."""
    try:
        result: Tensor = function.apply(*given)
    except RuntimeError as error:
        if "setup_context" in str(error):
            return None
        raise
    return result


def _pair(given: Any) -> list[int]:
    return [given, given] if isinstance(given, int) else list(given)


def _pulled(g: Tensor, x: Tensor, weight: Tensor, settings: Settings, wanted: list[bool]) -> Any:
    """(x̄, W̄, b̄), None where it is not wanted."""
    stride, padding, dilation, groups = settings
    return torch.ops.aten.convolution_backward(g, x, weight, [len(weight)], stride, padding, dilation, False, [0, 0],
                                               groups, wanted)


class _Convolution(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, settings: Settings) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.settings = settings
        return torch.conv2d(x, weight, bias, *settings)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        pull: Any = _Pulled.apply if torch.is_grad_enabled() else _pulled
        return *pull(g, *ctx.saved_tensors, ctx.settings, list(ctx.needs_input_grad[:3])), None


class _Pulled(Function):
    @staticmethod
    def forward(ctx: Any, g: Tensor, x: Tensor, weight: Tensor, settings: Settings, wanted: list[bool]) -> Any:
        ctx.save_for_backward(g, x, weight)
        ctx.settings = settings
        ctx.set_materialize_grads(False)
        return _pulled(g, x, weight, settings, wanted)

    @staticmethod
    def backward(ctx: Any, u_x: Tensor | None, u_weight: Tensor | None, u_bias: Tensor | None) -> Any:
        (g, x, weight), settings = ctx.saved_tensors, ctx.settings
        of_g, of_x, of_weight = [], None, None
        if u_x is not None:
            of_g.append(torch.conv2d(u_x, weight, None, *settings))
            of_weight = _pulled(g, u_x, weight, settings, [False, True, False])[1]
        if u_weight is not None:
            of_g.append(torch.conv2d(x, u_weight, None, *settings))
            of_x = _pulled(g, x, u_weight, settings, [True, False, False])[0] if ctx.needs_input_grad[1] else None
        if u_bias is not None:
            of_g.append(u_bias[:, None, None].expand_as(g))
        return sum(of_g[1:], start=of_g[0]) if of_g else None, of_x, of_weight, None, None


def _unpooled(g: Tensor, x: Tensor, index: Tensor, settings: Settings) -> Tensor:
    return torch.ops.aten.max_pool2d_with_indices_backward(g, x, *settings, index)


class _Pooling(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, settings: Settings) -> Tensor:
        y, index = torch.ops.aten.max_pool2d_with_indices(x, *settings)
        ctx.save_for_backward(x, index)
        ctx.settings = settings
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        pull: Any = _Unpooled.apply if torch.is_grad_enabled() else _unpooled
        return pull(g, *ctx.saved_tensors, ctx.settings), None


class _Unpooled(Function):
    @staticmethod
    def forward(ctx: Any, g: Tensor, x: Tensor, index: Tensor, settings: Settings) -> Tensor:
        ctx.save_for_backward(index)
        ctx.channels_last = index.stride(1) == 1
        return _unpooled(g, x, index, settings)

    @staticmethod
    def backward(ctx: Any, u: Tensor) -> Any:
        index, = ctx.saved_tensors
        return _read(u, index, ctx.channels_last), None, None, None


def _read(u: Tensor, index: Tensor, channels_last: bool) -> Tensor:
    """Of u (b, c, h, w) the entry that each window chose, (b, c, h', w'), in the layout that both lie in."""
    b, c, height, width = index.shape
    if not channels_last:
        return u.reshape(b, c, -1).gather(2, index.reshape(b, c, -1)).reshape(index.shape)
    chosen = index.permute(0, 2, 3, 1).reshape(b, -1, c)
    return u.permute(0, 2, 3, 1).reshape(b, -1, c).gather(1, chosen).reshape(b, height, width, c).permute(0, 3, 1, 2)
