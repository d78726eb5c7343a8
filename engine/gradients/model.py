"""What gradients read of a problem."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from engine.models.losses import Loss
from engine.models.network import Network

T = TypeVar("T")


class Differentiable(Protocol):
    """A network with its training examples x (n, …), y (n,) and the loss of one: such as a `ModuleProblem`."""

    network: Network
    loss: Loss
    x: Tensor
    y: Tensor
    device: torch.device

    @property
    def parameters(self) -> int:
        """P, the number of differentiated parameters."""

    def units(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs (b, …) and labels (b,) of examples `rows` (b,) that may be candidates."""


class Queried(Differentiable, Protocol):
    """The same with queries (m, …), and a memory of what was computed of them."""

    queries: Tensor

    @property
    def outside_content(self) -> str:
        """What tells the examples outside the training set from others."""

    @property
    def theta(self) -> Tensor:
        """θ_D, shape (P,)."""

    @property
    def query_logits(self) -> Tensor:
        """f(q; θ_D), shape (m, C)."""

    def outputs(self, x: Tensor, theta: Tensor | None = None) -> Tensor:
        """f(x; θ) (b, C) of inputs (b, …) at θ (P,), by default θ_D."""

    def margins(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Of training examples seen as events of probability p: ∂ log(p/(1 − p))/∂f (b, C), and 1 − p (b,)."""

    def memo(self, key: str, build: Callable[[], T], version: Hashable = None) -> T:
        """What `build()` made for `key`, made again only when `version` changes."""
