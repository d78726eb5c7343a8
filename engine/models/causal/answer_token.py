"""The logit of any token where a record's answer is predicted, as a further column of a `TokenReader`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.models.causal.encoding import Batch
from engine.models.causal.reader import TokenReader


@dataclass(frozen=True)
class AnswerToken:
    """A row's part is the token; without an answer its logit is read where the response begins."""

    width: int = 1

    def read(self, reader: TokenReader, rows: Tensor, batch: Batch, logits: Tensor) -> Tensor:
        position = torch.where(batch.answer < 0, batch.response.long().argmax(1), batch.answer)
        there = logits.gather(1, position[:, None, None].expand(-1, 1, logits.shape[-1]))[:, 0]
        return there.gather(1, rows)[:, 0]
