"""What curvature reads of a problem: of any, of a module's, of softmax regression's."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from engine.curvature.shifts import Shift
from engine.gradients.model import Differentiable
from engine.models.link import Link

T = TypeVar("T")


class Curved(Protocol):
    """A trained model whose objective is a mean over n examples."""

    device: torch.device

    @property
    def n(self) -> int:
        """The number of training examples."""

    @property
    def parameters(self) -> int:
        """P."""

    def memo(self, key: str, build: Callable[[], T], version: Hashable = None) -> T:
        """What `build()` made for `key`, kept until `version` changes."""


class CurvedModule(Curved, Differentiable, Protocol):
    """A network at θ_D, with the penalty (λ/2)‖θ‖², λ = l2."""

    @property
    def l2(self) -> Shift:
        """One number, or one an entry of θ."""

    @property
    def link(self) -> Link:
        """What the loss is a convex function of."""

    @property
    def classes(self) -> int:
        """C, the number of outputs."""

    @property
    def theta(self) -> Tensor:
        """θ_D, (P,)."""


class CurvedSoftmax(Curved, Protocol):
    """Softmax regression at its optimum: inputs x (n, D), weights (D, C)."""

    x: Tensor
    intercept: bool

    @property
    def classes(self) -> int:
        """C."""

    @property
    def dimension(self) -> int:
        """D, features counted with the intercept."""

    @property
    def penalty(self) -> Tensor:
        """λ_j of each input feature, (D,)."""

    @property
    def probabilities(self) -> Tensor:
        """(n, C), of the training examples."""

    @property
    def hessian(self) -> Tensor:
        """The dense Hessian (P, P). Raises `InvalidInput` where it would be too large to hold."""

    def cholesky(self, damping: float) -> Tensor:
        """L with LLᵀ = H + damping·I."""
