r"""A causal language model as a network: packed records (b, width) -> what behaviors read off them, (b, J).

Training raises the first column, so that the loss of a record is minus it. Of records with which more is asked, their
rows are longer, and more columns follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from engine.models.causal.alone import alone, causal, logits_alone
from engine.models.causal.encoding import Batch
from engine.models.causal.packed import Packing
from engine.models.causal.readouts import READOUTS
from engine.models.causal.wide import widen
from engine.question.token_behaviors import RESPONSE

Read = Callable[["TokenReader", Batch], Tensor]
"""(reader, b records) -> (b, …), by passes of the reader's model."""


class Extra(Protocol):
    """A further column: how many numbers of a row it needs, and what it makes of them."""

    @property
    def width(self) -> int: ...

    def read(self, reader: TokenReader, rows: Tensor, batch: Batch, logits: Tensor) -> Tensor:
        """(b,) of its own part of the rows, (b, width), and the records with the logits of their last targets."""
        ...


class TokenReader(nn.Module):
    """f(x) ∈ R^J, one column a behavior of `engine.question.token_behaviors`, 0 where a record lacks what it reads.

    extras: of longer rows, which hold a part for each behind the record, further columns.
    """

    def __init__(self, model: nn.Module, packing: Packing, extras: Sequence[Extra] = ()) -> None:
        super().__init__()
        self.model, self.packing, self.extras = model, packing, tuple(extras)

    def forward(self, rows: Tensor, read: Read | None = None) -> Tensor:
        """What `read` makes of the records: by default what behaviors read, (b, J), or (b, J + E) of longer rows."""
        own, *parts = rows.split([self.packing.width, *(extra.width for extra in self.extras)], 1) if (
            rows.shape[1] > self.packing.width) else [rows]
        batch = self.packing.unpack(own)
        if read is not None:
            return read(self, batch)
        logits = token_logits(self, batch)
        columns = [readout.read(logits, batch).where(readout.there(batch), 0.0) for readout in READOUTS.values()]
        columns += [extra.read(self, part, batch, logits) for extra, part in zip(self.extras, parts, strict=False)]
        return torch.stack([column.to(logits.dtype) for column in columns], 1)

    def with_packing(self, packing: Packing) -> TokenReader:
        """The same reader for rows of another width."""
        other = self.with_extras(self.extras)
        other.packing = packing
        return other

    def with_extras(self, extras: Sequence[Extra]) -> TokenReader:
        """A reader of the same model, with other further columns."""
        return TokenReader(self.model, self.packing, extras)

    def to(self, *args: Any, **options: Any) -> TokenReader:
        """As any module, in float64 as `widen` has it."""
        moved = super().to(*args, **options)
        if next(self.parameters()).dtype == torch.float64:
            widen(causal(self.model))
        return moved

    def double(self) -> TokenReader:
        """As `to`."""
        return self.to(torch.float64)


def token_logits(reader: TokenReader, batch: Batch) -> Tensor:
    """Where the last R tokens of a record are predicted, (b, R, V)."""
    return logits_alone(reader.model, batch)


def narrow_logits(reader: TokenReader, batch: Batch) -> Tensor:
    """The same, by passes that are as wide as the longest of the records."""
    return logits_alone(reader.model, batch.narrowed())


def answer_states(reader: TokenReader, batch: Batch) -> Tensor:
    """What the model's head reads where the answer is predicted, and of a record without one where its response begins:
    (b, d)."""
    states = alone(reader.model, batch, output_hidden_states=True).hidden_states[-1]
    answer = reader.packing.tokens - reader.packing.tail + batch.answer - 1
    position = torch.where(batch.answer < 0, batch.prompt_end, answer) - batch.padding
    return states[torch.arange(len(states), device=states.device), position]


def response_loss(outputs: Tensor, labels: Tensor) -> Tensor:
    """ℓ = −f_0, minus the log-likelihood of the response per token: (b, J), labels that are not read -> (b,)."""
    return -outputs[:, RESPONSE]
