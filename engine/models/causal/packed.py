"""Records of tokens packed into rows of whole numbers, as a network takes inputs: one tensor, one row a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from engine.models.causal.encoding import Batch, Encoded, Encoder

NOTHING = -1
"""Stands where a row has no token."""


@dataclass(frozen=True)
class Packing:
    """How wide the parts of a row are: T tokens, of which the last R hold the response, and up to C choices.

        tokens (T)   −1 where there is none, which is on the left
        response (R)      1 where the token belongs to it, 2 where its loss does not count
        explanation (R)   1 where the token belongs to it, and 2 more of an answer that is not one token
        answer, stated    the column of an answer of one token among the R, and which of the choices it states; −1
                          without one
        letters (C)      the tokens of the choices, −1 where there are fewer
    """

    tokens: int
    tail: int
    choices: int

    @classmethod
    def of(cls, encoded: Sequence[Encoded]) -> Packing:
        """The narrowest for all of them."""
        return cls(max(len(item.ids) for item in encoded), max(len(item.ids) - item.response for item in encoded),
                   max(1, *(len(item.letters) for item in encoded)))

    @property
    def width(self) -> int:
        return self.tokens + 2 * self.tail + 2 + self.choices

    def pack(self, encoder: Encoder, encoded: Sequence[Encoded]) -> Tensor:
        """One row a record, (n, width) int64."""
        batch = encoder.batch(encoded)
        rows = self.nothing(len(encoded))
        ids = torch.where(batch.mask.bool(), batch.ids, NOTHING)
        tokens, response, explanation, columns, letters = self._split(rows)
        tokens[:, self.tokens - ids.shape[1]:] = ids
        spread = batch.answered & (batch.answer < 0)[:, None]
        for part, flags in ((response, batch.response.long()), (explanation, batch.explanation + 2 * spread)):
            part[:, self.tail - flags.shape[1]:] = flags
        moved = self.tail - batch.response.shape[1]
        columns[:, 0] = torch.where(batch.answer < 0, NOTHING, batch.answer + moved)
        columns[:, 1] = batch.stated
        letters[:, :batch.letters.shape[1]] = batch.letters
        return rows

    def nothing(self, count: int) -> Tensor:
        """Rows without a record, (count, width)."""
        rows = torch.full((count, self.width), NOTHING)
        _, response, explanation, _, _ = self._split(rows)
        response.zero_()
        explanation.zero_()
        return rows

    def unpack(self, rows: Tensor) -> Batch:
        """The batch (b, …) of rows (b, width), all of the same width. A token that is not there becomes token 0."""
        tokens, response, explanation, columns, letters = self._split(rows)
        mask = (tokens != NOTHING).long()
        ids = tokens.clamp_min(0)
        first = self.tokens - self.tail + (response != 0).long().argmax(1)
        return Batch(ids, mask, (mask.cumsum(1) - 1).clamp_min(0), ids[:, self.tokens - self.tail:],
                     response != 0, explanation % 2 == 1, columns[:, 0], letters, columns[:, 1], first - 1,
                     response == 1, (explanation > 1) | (torch.arange(self.tail, device=rows.device) == columns[:, :1]))

    def scoring(self, rows: Tensor, marked: Callable[[Batch], Tensor]) -> Tensor:
        """The same records, with the loss of the marked tokens of their responses alone."""
        batch, rows = self.unpack(rows), rows.clone()
        response = self._split(rows[:, :self.width])[1]
        response[batch.response & ~marked(batch)] = 2
        return rows

    def widened(self, other: Packing) -> Packing:
        """Wide enough for the rows of both."""
        return Packing(max(self.tokens, other.tokens), max(self.tail, other.tail), max(self.choices, other.choices))

    def repacked(self, rows: Tensor, wider: Packing) -> Tensor:
        """Rows (n, width) as a wider packing has them, and behind the record what else they hold."""
        tokens, response, explanation, columns, letters = self._split(rows[:, :self.width])
        before, moved = wider.tokens - self.tokens, wider.tail - self.tail
        answer, stated = columns.T
        return torch.cat([
            pad(tokens, (before, 0), value=NOTHING), pad(response, (moved, 0)), pad(explanation, (moved, 0)),
            torch.stack([torch.where(answer < 0, NOTHING, answer + moved), stated], 1),
            pad(letters, (0, wider.choices - self.choices), value=NOTHING), rows[:, self.width:]], 1)

    def _split(self, rows: Tensor) -> tuple[Tensor, ...]:
        return rows.split([self.tokens, self.tail, self.tail, 2, self.choices], 1)
