"""Images in the memory layout in which a CPU convolves and pools them fastest.

With channels last, max-pooling on a CPU takes a tenth of the time and a forward pass of a small network a third. The
layout changes no value beyond rounding; a module that reads tensors by `view` may refuse it, and keeps its own.
"""

from __future__ import annotations

from torch import Tensor

from engine.gradients.findings import computed_once
from engine.models.layout import channels_last, takes_channels_last
from engine.models.network import Network


def arranged(network: Network, x: Tensor) -> Tensor:
    """x (b, …), in channels-last order where the network is convolutional, on a CPU, and gives the same logits."""
    if network.device.type != "cpu" or x.ndim != 4:
        return x
    takes = computed_once(network, ("channels last", tuple(x.shape[1:])),
                       lambda: takes_channels_last(network.module, network.predict, x))
    return channels_last(x) if takes else x
