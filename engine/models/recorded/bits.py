"""The bits of weights as one number, to tell quickly whether any of them changed."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Whole numbers of as many bytes as a weight."""


def trace(parameters: Iterable[Tensor]) -> Tensor:
    """Σ_p (p + 1) Σ_i (the bits of weight i of parameter p as a whole number), modulo 2⁶⁴: as a number, where it is.

    It changes with any bit of any weight, but not with every permutation of the weights of one parameter.
    """
    return torch.stack([(index + 1) * parameter.detach().view(WHOLE[parameter.element_size()]).sum(dtype=torch.int64)
                        for index, parameter in enumerate(parameters)]).sum()


def bits_of_frozen(module: nn.Module, trained: set[str]) -> int | None:
    """The same of all parameters but the trained ones; None where there are no others."""
    others = [parameter for name, parameter in module.named_parameters() if name not in trained]
    return int(trace(others)) if others else None
