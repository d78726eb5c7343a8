"""Batches without their padding: the tokens of all records one after another, as one row of N tokens.

Linear maps and normalisations take every token alone, so they read the row as it is; attention alone has to keep
records apart. What is not computed is padding: of 16 ScienceQA records in a random order more than half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from engine.models.causal.encoding import Batch
from engine.models.causal.padding import Padding

Attention = Callable[..., tuple[Tensor, Any]]
"""transformers' own: (module, query (b, H, T, D), key, value, mask, **options) -> (values (b, T, H, D), weights)."""


@dataclass(frozen=True)
class Unpadded:
    """ids, positions (1, N). lengths: the number of tokens of every record."""

    ids: Tensor
    positions: Tensor
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, batch: Batch) -> Unpadded:
        there = batch.mask.bool()
        return cls(batch.ids[there][None], batch.positions[there][None], tuple(batch.mask.sum(1).tolist()))

    @cached_property
    def padding(self) -> Padding:
        return Padding(self.lengths, self.ids.device)

    def attended(self, attention: Attention, module: Any, *row: Tensor, **options: Any) -> Tensor:
        """Causal attention of each record to itself, (1, N, H, D): of queries, keys and values (1, H, N, D).

        A CPU takes record after record; a GPU all of them padded, which is one call instead of many.
        """
        attend = self.one_by_one if row[0].device.type == "cpu" else self.together
        return attend(attention, module, *row, **options)

    def one_by_one(self, attention: Attention, module: Any, *row: Tensor, **options: Any) -> Tensor:
        apart = zip(*(part.split(self.lengths, 2) for part in row), strict=True)
        return torch.cat([attention(module, *own, None, **options, is_causal=True)[0] for own in apart], 1)

    def together(self, attention: Attention, module: Any, *row: Tensor, **options: Any) -> Tensor:
        """Padded at the end, which no earlier token attends to, so that no mask is needed."""
        padded = (self.padding.padded(part[0].transpose(0, 1)).transpose(1, 2) for part in row)
        values = attention(module, *padded, None, **options, is_causal=True)[0]
        return self.padding.row(values)[None]
