"""Losses of one example each: (logits (b, C), labels (b,)) -> (b,)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.functional import cross_entropy, softplus

from engine.question.class_behaviors import soft_margin

Loss = Callable[[Tensor, Tensor], Tensor]


def per_example_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """ℓ = −log p_y: (b, C), (b,) -> (b,)."""
    return cross_entropy(logits, labels, reduction="none")


def cross_entropy_in_digits(logits: Tensor, labels: Tensor) -> Tensor:
    """ℓ = log(1 + e^{−u}), u = f_y − logsumexp_{j≠y} f_j the log-odds: (b, C), (b,) -> (b,).

    The same function. Its derivative by f_y is −1/(1 + e^u), which keeps its digits for an example of which the model
    is sure, where the p_y − 1 of `cross_entropy` is rounded to a multiple of 6e-8 in float32.
    """
    return softplus(-soft_margin(logits, labels))


def differentiable(loss: Loss) -> Loss:
    """The form of a loss whose gradients are read at a trained model: its own, of cross-entropy the one with digits.

    Training, and what differentiates it, keeps the loss itself, whose gradients of such examples move no step.
    """
    return cross_entropy_in_digits if loss is per_example_cross_entropy else loss
