"""A network tried on a few inputs: whether it returns class logits, which the parameters that count have slopes on."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.models.network import Network


def tried(network: Network, x: Tensor) -> Tensor:
    """The logits (b, C) of inputs x (b, …), which depend on θ. Raises `InvalidInput` for inputs that the module does
    not take, for other outputs, and for outputs without a gradient."""
    theta = network.theta.clone().requires_grad_()
    try:
        with network.lock, torch.enable_grad():
            logits: Any = network.logits(x, theta)
    except Exception as error:  # a forward pass of a user's may raise anything
        reason = " ".join(str(error).split())[:160]
        raise InvalidInput(f"The model does not take inputs of shape {tuple(x.shape[1:])}: {reason}") from None
    if not isinstance(logits, Tensor):
        raise InvalidInput(f"The model returns a {type(logits).__name__}; let it return class logits, (2, C) for two "
                           "inputs.")
    if logits.ndim != 2:
        raise InvalidInput(f"The model returns shape {tuple(logits.shape)} for two inputs; let it return class logits, "
                           "(2, C).")
    if not logits.is_floating_point():
        raise InvalidInput(f"The model returns numbers of the kind {logits.dtype}; let it return class logits, which "
                           "are real numbers.")
    if not logits.requires_grad:
        raise InvalidInput("The outputs have no gradient with respect to the differentiated parameters, as after "
                           "`torch.no_grad`, `detach` or `argmax`; return the tensor before that operation.")
    try:
        torch.autograd.grad(logits.sum(), theta)
    except RuntimeError as error:
        raise InvalidInput(f"No gradient can be taken through the model ({' '.join(str(error).split())[:160]}); leave "
                           "out in-place operations and anything that replaces its backward pass, such as "
                           "`torch.utils.checkpoint`.") from None
    return logits.detach()
