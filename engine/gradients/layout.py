"""Images in the memory layout in which a CPU convolves and pools them fastest.

With channels last, max-pooling on a CPU takes a tenth of the time and a forward pass of a small network a third. The
layout changes no value beyond rounding; a module that reads tensors by `view` may refuse it, and keeps its own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.gradients.findings import found_once
from engine.models.layout import channels_last
from engine.models.network import Network


def arranged(network: Network, x: Tensor) -> Tensor:
    """x (b, …), in channels-last order where the network is convolutional, on a CPU, and gives the same logits."""
    if network.device.type != "cpu" or x.ndim != 4:
        return x
    takes = found_once(network, ("channels last", tuple(x.shape[1:])), lambda: _takes(network, x[:2]))
    return channels_last(x) if takes else x


def _takes(network: Network, x: Tensor) -> bool:
    if not any(isinstance(module, nn.Conv2d) for module in network.module.modules()):
        return False
    expected = network.predict(x)
    try:
        found = network.predict(channels_last(x))
    except RuntimeError:
        return False
    return torch.allclose(found, expected, rtol=1e-3, atol=1e-3 * expected.abs().max().item())
