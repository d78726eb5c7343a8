"""A causal language model while it is trained: of every record the response alone, in batches that are cut short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor
from torch.nn.functional import pad

from engine.models.causal import passes
from engine.models.causal.encoding import Batch
from engine.models.causal.reader import Extra, Read, TokenReader
from engine.models.causal.readouts import READOUTS, learned_likelihood


class LearningReader(TokenReader):
    """A `TokenReader` for trainings whose loss is that of the response.

    In training mode every other column of its outputs is 0, and the batch is cut to its longest record; in evaluation
    mode it is any other reader.
    """

    def with_extras(self, extras: Sequence[Extra]) -> TokenReader:
        return LearningReader(self.model, self.packing, extras)

    def forward(self, rows: Tensor, read: Read | None = None) -> Tensor:
        if not self.training or read is not None:
            return super().forward(rows, read)
        batch = shortened(self.packing.unpack(rows))
        logits, _ = passes.forward(self.model, batch)
        return pad(learned_likelihood(logits, batch)[:, None], (0, len(READOUTS) - 1))


def shortened(batch: Batch) -> Batch:
    """Without the columns that no record of the batch needs."""
    width, tail = int(batch.mask.sum(1).max()), int(batch.response.sum(1).max())
    before, cut = batch.ids.shape[1] - width, batch.targets.shape[1] - tail
    return replace(batch, ids=batch.ids[:, before:], mask=batch.mask[:, before:], positions=batch.positions[:, before:],
                   targets=batch.targets[:, cut:], response=batch.response[:, cut:],
                   explanation=batch.explanation[:, cut:], answer=(batch.answer - cut).clamp_min(-1),
                   prompt_end=batch.prompt_end - before, scored=batch.scored[:, cut:],
                   answered=batch.answered[:, cut:])
