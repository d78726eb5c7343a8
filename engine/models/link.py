r"""What the loss of an example is a convex function of: ℓ(z; θ) = c(u(x; θ)), u the logits of classes or of tokens.

The Gauss–Newton matrix keeps the curvature of c and drops that of u, so that it depends on where the two are parted:
with u the log-likelihood itself c is linear, and nothing is left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from engine.models.losses import Loss, differentiable, per_example_cross_entropy
from engine.models.network import Network


class Link(ABC):
    """u and c of a network's training loss.

    measured: how many columns of a cheap solver's answer have their residual measured, each at the price of a product
    with the curvature of all n examples; None for all.
    """

    measured: ClassVar[int | None] = 16

    @abstractmethod
    def outputs(self, x: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """u(x) of inputs x (b, …) with the selected parameters at `values`, differentiable in them: (b, …, C)."""

    @abstractmethod
    def loss(self, outputs: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """c at outputs (b, …, C) of inputs x (b, …) and labels y (b,): (b,)."""

    @abstractmethod
    def softmax_weights(self, x: Tensor) -> Tensor | None:
        """w (b, …) where c is Σ_t w_t · the cross-entropy of the logits u_t (C,); None where it is another loss."""

    @abstractmethod
    def by_length(self, x: Tensor, rows: Tensor) -> Tensor:
        """`rows` (b,) of inputs x (n, …) from those that take the fewest positions to those that take the most, so that
        little fills up a batch of neighbours."""

    @abstractmethod
    def present(self, x: Tensor, length: int) -> Tensor | None:
        """Which of the `length` positions that a layer reads are there, (b, length) bool, where others only fill them
        up; None where all are."""


@dataclass(frozen=True)
class ClassLink(Link):
    """u are the network's outputs (b, C)."""

    network: Network
    of_example: Loss

    def outputs(self, x: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        return self.network.at(x, values)

    def loss(self, outputs: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return differentiable(self.of_example)(outputs, y)

    def softmax_weights(self, x: Tensor) -> Tensor | None:
        return self.network.theta.new_ones(len(x)) if self.of_example is per_example_cross_entropy else None

    def by_length(self, x: Tensor, rows: Tensor) -> Tensor:
        return rows

    def present(self, x: Tensor, length: int) -> Tensor | None:
        return None
