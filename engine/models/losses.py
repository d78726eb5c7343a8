"""Losses of one example each: (logits (b, C), labels (b,)) -> (b,)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from engine.basics.errors import InvalidInput
from engine.question.likelihood import log_likelihood

Loss = Callable[[Tensor, Tensor], Tensor]


def per_example_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """ℓ = −log p_y: (b, C), (b,) -> (b,)."""
    return cross_entropy(logits, labels, reduction="none")


def cross_entropy_in_digits(logits: Tensor, labels: Tensor) -> Tensor:
    """The same function, whose derivatives, p_y − 1 and the curvature p_y (1 − p_y) among them, keep their digits for
    an example of which the model is sure, whether it is right or wrong; see `engine.question.likelihood`."""
    return -log_likelihood(logits, labels)


def differentiable(loss: Loss) -> Loss:
    """The form of a loss whose gradients are read at a trained model: its own, of cross-entropy the one with digits.

    Training, and what differentiates it, keeps the loss itself, whose gradients of such examples move no step.
    """
    return cross_entropy_in_digits if loss is per_example_cross_entropy else loss


def check_logits(outputs: Tensor) -> None:
    """Raises `InvalidInput` where outputs (b, C) that cross-entropy would take as logits are probabilities: C > 1
    numbers of [0, 1] for every example, which sum to 1."""
    sums = outputs.sum(-1)
    close = 10 * torch.finfo(outputs.dtype).eps * outputs.shape[-1]
    if outputs.shape[-1] > 1 and (outputs >= 0).all() and ((sums - 1).abs() <= close).all():
        raise InvalidInput("The model returns probabilities: for all tested examples they are at least 0 and sum to "
                           "1. Cross-entropy needs logits; let the model return the inputs of its softmax, or the "
                           "logarithm of its outputs.")


def check_loss(loss: Loss, outputs: Tensor, labels: Tensor) -> None:
    """Raises `InvalidInput` for a user's loss that fails on outputs (b, C) and labels (b,), gives anything else than
    one number an example, or another number to an example among others than alone; for cross-entropy of what
    `check_logits` refuses."""
    if loss is per_example_cross_entropy:
        check_logits(outputs)
        return
    try:
        values, *alone = [loss(*part) for part in ((outputs, labels), *zip(outputs.split(1), labels.split(1),
                                                                           strict=True))]
    except Exception as error:  # a function of a user's may raise anything
        raise InvalidInput(f"The loss fails on outputs of shape {tuple(outputs.shape)} "
                           f"({' '.join(str(error).split())[:160]}); correct it.") from None
    if values.shape != (len(outputs),):
        raise InvalidInput(f"The loss returns shape {tuple(values.shape)} for {len(outputs)} examples; return one "
                           "number for each, as with `reduction=\"none\"`.")
    if not torch.allclose(values, torch.cat(alone), rtol=1e-4, equal_nan=True):
        raise InvalidInput("The loss of an example depends on the others in its batch; let it read each example "
                           "alone, without a mean over the batch.")
