"""Records of tokens one after another, and the same padded at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor


class Padding:
    """lengths: the number of tokens of each of b records, N together, the longest of T. device: where they are."""

    def __init__(self, lengths: Sequence[int], device: torch.device) -> None:
        self.lengths, self.device = tuple(lengths), device

    @cached_property
    def index(self) -> Tensor:
        """Where each of the N tokens is in b × T columns, one row after another."""
        lengths = torch.tensor(self.lengths, device=self.device)
        starts = torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths)
        record = torch.repeat_interleave(lengths)
        return record * max(self.lengths) + torch.arange(len(record), device=self.device) - starts

    def padded(self, tokens: Tensor) -> Tensor:
        """(N, …) -> (b, T, …), 0 where there is no token."""
        room = tokens.new_zeros(len(self.lengths) * max(self.lengths), *tokens.shape[1:])
        return room.index_copy(0, self.index, tokens).unflatten(0, (len(self.lengths), -1))

    def row(self, padded: Tensor) -> Tensor:
        """(b, T, …) -> (N, …)."""
        return padded.flatten(0, 1).index_select(0, self.index)
