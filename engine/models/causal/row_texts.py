"""Which record a packed row was made of: what a problem that holds rows alone knows of its texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.data.records import Record
from engine.models.causal.encoding import Encoder


class RowTexts:
    """rows (n, width), packed of `records` by `encoder`; rows that are alike say the same."""

    def __init__(self, encoder: Encoder, rows: Tensor, records: Sequence[Record]) -> None:
        self.encoder, self.rows, self.records = encoder, rows, records

    def of(self, rows: Tensor) -> list[Record]:
        """The records of rows (b, width). Raises `InvalidInput` for a row that is none of those."""
        keys = _keys(rows)
        if not self._rows.keys() >= set(keys):
            raise InvalidInput("Only the tokens of the query are available, not its text; sample the queries from a "
                               "dataset.")
        return [self.records[self._rows[key]] for key in keys]

    def with_rows(self, rows: Tensor, records: Sequence[Record]) -> RowTexts:
        """With further rows (b, width), and the records that they say."""
        return RowTexts(self.encoder, torch.cat([self.rows, rows]), [*self.records, *records])

    @cached_property
    def _rows(self) -> dict[bytes, int]:
        return {key: index for index, key in enumerate(_keys(self.rows))}


def _keys(rows: Tensor) -> list[bytes]:
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows.cpu().contiguous().numpy()]
