"""Which kind of numbers a module takes its inputs as: in its own precision, or whole, such as tokens and bytes."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def number_kind(module: nn.Module, x: Tensor, precision: torch.dtype) -> torch.dtype:
    """For a few inputs x (b, …): whole numbers stay as they are where the module takes them so; other numbers are in
    its precision, or whole where it takes nothing else."""
    own, other = (precision, torch.int64) if x.is_floating_point() else (x.dtype, precision)
    return other if not _takes(module, x.to(own)) and _takes(module, x.to(other)) else own


@torch.no_grad()
def _takes(module: nn.Module, x: Tensor) -> bool:
    try:
        module(x)
    except Exception:  # a forward pass of a user's may raise anything
        return False
    return True
