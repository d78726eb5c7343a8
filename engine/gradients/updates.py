"""Adam's updates on gradients that are held, computed where they are read: what is held takes half the bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.basics.mapped import Rows, blocks, release
from engine.models.adam import adam_update

CACHED_BYTES = 1 << 20
"""Of rows that are computed at once: what is between the steps of more would not fit into a processor's cache."""


class Updates:
    """Γ(∇ℓ(z_k)), rows (n, p) of `engine.models.adam.adam_update` on gradients (n, p), 0 where a record makes no step.

    first, second: the moments (p,) after `step` steps. moving: (n,) bool, which records make a step.
    """

    def __init__(self, gradients: Rows, first: Tensor, second: Tensor, step: int, moving: np.ndarray) -> None:
        self.gradients, self.first, self.second, self.step, self.moving = gradients, first, second, step, moving

    @property
    def shape(self) -> tuple[int, ...]:
        return self.gradients.shape

    def __len__(self) -> int:
        return len(self.gradients)

    def __getitem__(self, rows: Any) -> Any:
        """One row, or an array of several; all of them are computed when their blocks are read."""
        if isinstance(rows, slice) and rows == slice(None):
            return self
        updates = np.array(self.gradients[rows], dtype=np.float32)
        release(self.gradients)
        few = max(1, CACHED_BYTES // self.first.nbytes)
        for own in torch.from_numpy(np.atleast_2d(updates)).split(few):
            own.copy_(adam_update(own, self.first, self.second, self.step))
        updates *= np.asarray(self.moving[rows])[..., None]
        return updates

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.concatenate([own for _, own in blocks(self)]).astype(dtype or np.float32, copy=False)
