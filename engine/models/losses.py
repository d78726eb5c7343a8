"""Losses of one example each: (logits (b, C), labels (b,)) -> (b,)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.functional import cross_entropy

Loss = Callable[[Tensor, Tensor], Tensor]


def per_example_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """ℓ = −log p_y: (b, C), (b,) -> (b,)."""
    return cross_entropy(logits, labels, reduction="none")
