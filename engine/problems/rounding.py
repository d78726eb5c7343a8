"""What a model's precision takes from a user's numbers: said in a manifest, where they come with more digits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

ROWS = 4_096
"""Examples at a time."""


def rounded(named: Iterable[tuple[str, Iterable[ArrayLike | Tensor]]], dtype: torch.dtype) -> tuple[str, ...]:
    """A sentence for each kind of numbers, (its name, arrays), that loses digits where it is held as `dtype`: by how
    much of a value at most. Whole numbers lose none here."""
    sentences = []
    for name, arrays in named:
        worst, wide = max((loss(array, dtype) for array in arrays), default=(0.0, ""))
        if worst:
            sentences.append(f"The {name} are {wide} and are converted to {str(dtype)[6:]}, which changes each by at "
                             f"most {worst:.1g} of its value.")
    return tuple(sentences)


def loss(array: ArrayLike | Tensor, dtype: torch.dtype) -> tuple[float, str]:
    """max |narrow(v) − v| / |v| over the values of an array that has more digits than `dtype`, and its own type; 0
    where it has no more."""
    held = array.detach() if isinstance(array, Tensor) else torch.as_tensor(
        np.require(array, requirements="W"))
    if not held.is_floating_point() or torch.finfo(held.dtype).eps >= torch.finfo(dtype).eps:
        return 0.0, ""
    worst = 0.0
    for chunk in held.reshape(-1, *held.shape[1:]).split(ROWS):
        off = (chunk.to(dtype).to(held.dtype) - chunk).abs() / chunk.abs()
        worst = max(worst, float(torch.nan_to_num(off, nan=0.0).max()) if off.numel() else 0.0)
    return worst, str(held.dtype)[6:]
