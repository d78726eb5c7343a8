"""What gradients read of a problem."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from engine.models.losses import Loss
from engine.models.network import Network


class Differentiable(Protocol):
    """A network with its training examples x (n, …), y (n,) and the loss of one: such as a `ModuleProblem`."""

    network: Network
    loss: Loss
    x: Tensor
    y: Tensor
    device: torch.device

    @property
    def parameters(self) -> int:
        """P, the number of parameters that count."""
