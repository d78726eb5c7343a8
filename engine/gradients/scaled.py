"""Features that are held gradients divided by a number each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Scaled:
    """Features Φ = diag(d)⁻¹ G of rows G (n, k) in memory, without a second matrix of their size. divisors: d (n,)."""

    rows: Tensor
    divisors: Tensor

    @property
    def shape(self) -> torch.Size:
        return self.rows.shape

    @property
    def device(self) -> torch.device:
        return self.rows.device

    def double(self) -> Tensor:
        return (self.rows / self.divisors[:, None]).double()

    def split(self, size: int, dim: int) -> Iterator[Tensor]:
        """Columns of Φ, of which dim is 1, one after another in the same memory."""
        room = self.rows.new_empty(len(self.rows), min(size, self.rows.shape[1]))
        return (torch.div(part, self.divisors[:, None], out=room[:, :part.shape[1]])
                for part in self.rows.split(size, dim))


Features = Tensor | Scaled
