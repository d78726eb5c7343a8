"""The order in which batches of pictures lie in memory while a model is trained on them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def layout_for(module: nn.Module, x: Tensor, mixed: bool = False) -> Callable[[Tensor], Tensor]:
    """How to lay out batches of x (n, …) for `module`: channels last where it convolves faster then, on a CPU, and on a
    GPU in `mixed` precision, whose units for matrices read that layout; else as is."""
    training = module.training
    try:
        with torch.no_grad():
            faster = (mixed or x.device.type == "cpu") and takes_channels_last(module, module.eval(), x)
    finally:
        module.train(training)
    return channels_last if faster else _as_it_is


def takes_channels_last(module: nn.Module, predict: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Whether x (n, …) gains by that layout, and `predict`, which runs `module`, gives the same logits for it.

    A module that reads tensors by `view` may refuse the layout, so it is tried on two examples.
    """
    convolves = any(isinstance(part, nn.Conv2d) for part in module.modules())
    if x.device.type not in ("cpu", "cuda") or x.ndim != 4 or not convolves:
        return False
    expected = predict(x[:2])
    try:
        logits = predict(channels_last(x[:2]))
    except RuntimeError:
        return False
    return torch.allclose(logits, expected, rtol=1e-3, atol=1e-3 * expected.abs().max().item())


def channels_last(x: Tensor) -> Tensor:
    """The same values (b, c, h, w), a pixel's channels side by side, with strides that say so for one channel too."""
    _, channels, height, width = x.shape
    moved = x.contiguous(memory_format=torch.channels_last)
    return moved.as_strided(x.shape, (channels * height * width, 1, width * channels, channels))


def _as_it_is(x: Tensor) -> Tensor:
    return x
