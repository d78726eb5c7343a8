"""Labels and candidates as a user holds them, checked: whole numbers, one an example."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput


def whole_numbers(values: Any, noun: str, remedy: str) -> Tensor:
    """Values (k,) as int64 on the CPU; `noun` names them in the sentence. Raises `InvalidInput` for what are none."""
    held = values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(
        values if hasattr(values, "__len__") else list(values))
    if held.ndim != 1 or held.dtype.kind not in "iuf" or (held.dtype.kind == "f" and (held != np.floor(held)).any()):
        raise InvalidInput(f"The {noun} have the shape {held.shape} and the type {held.dtype}; {remedy}.")
    return torch.from_numpy(held.astype(np.int64))


def labels(values: Any) -> Tensor:
    """Labels (n,). Raises `InvalidInput` for one-hot rows, a column, fractions and booleans."""
    return whole_numbers(values, "labels", "give the number of its class for each example, a flat list")


def indices(candidates: Any, n: int) -> Tensor:
    """Candidates as indices (k,) into n training examples. Raises `InvalidInput` for what are none."""
    rows = whole_numbers(candidates, "candidates", "give whole numbers, one per training "
                         "example; for a mask those of `mask.nonzero()[0]`")
    if not len(rows) or int(rows.min()) < 0 or int(rows.max()) >= n or len(rows.unique()) < len(rows):
        raise InvalidInput(f"The candidates name an example twice, or one that is not among 0 to {n - 1:,}, or none at "
                           "all; give distinct indices of training examples.")
    return rows
