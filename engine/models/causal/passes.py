"""Forward passes over records: logits where they are needed, in batches of similar length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from engine.models.causal.alone import causal, padded
from engine.models.causal.encoding import Batch, Encoded, Encoder
from engine.models.causal.narrow import is_narrow
from engine.models.causal.readouts import Logits
from engine.models.causal.short import can_be_short, read_shortly

TOKENS = {"cpu": 2048, "cuda": 32768}
"""The most tokens of a batch, by the type of its device: memory grows with them, and larger batches are no faster on a
CPU. A GPU has the memory, and waits for the calls of short batches."""
ROOM = {"cpu": 1 << 24, "cuda": 1 << 27}
"""Numbers of float32 that the records of a batch may take besides, by the type of its device: 64 and 512 MiB."""
Numbers = Callable[[int], int]
"""Tokens of a record -> the numbers that it takes at once: its logits, its gradient."""


def device_of(model: Any) -> torch.device:
    """Where the model's inputs go."""
    return model.get_input_embeddings().weight.device


def forward(model: Any, batch: Batch, hidden: bool = False) -> tuple[Logits, Any]:
    """(logits (b, R, V) of the last R targets, hidden states (layers + 1) × (b, T, d) or None)."""
    narrow, base = is_narrow(model), causal(model)
    # asked outside of autocast, which keeps what its trial rounds
    short = narrow and not hidden and can_be_short(base)
    with precision(model, batch):
        read = batch.predicting
        return (read_shortly(base, batch, read), None) if short else padded(model, batch, read, hidden)


def hidden_states(model: Any, batch: Batch) -> tuple[Tensor, ...]:
    """What the embeddings and every layer return, (layers + 1) × (b, T, d), with the fewest logits."""
    with precision(model, batch):
        return padded(model, batch, batch.predicting[-1:], True)[1]


def precision(model: Any, batch: Batch) -> AbstractContextManager[Any]:
    """Within it the model's products are of bfloat16, where its matrices are."""
    return torch.autocast(batch.ids.device.type, torch.bfloat16) if is_narrow(model) else nullcontext()


def batches(records: Sequence[Encoded], size: int, device: torch.device, rows: Sequence[int] | None = None,
            numbers: Numbers | None = None) -> Iterator[list[int]]:
    """Rows in batches of records of similar length, so that little is padded: of no more than `TOKENS` tokens unless a
    single record has more, and of at most `size` records, or of more where `ROOM` holds the `numbers` of them all."""
    batch: list[int] = []
    most, room = (by.get(device.type, by["cuda"]) for by in (TOKENS, ROOM))
    for row in sorted(range(len(records)) if rows is None else rows, key=lambda row: len(records[row].ids)):
        count, tokens = len(batch) + 1, len(records[row].ids)
        if batch and (count * tokens > most or count > size and (numbers is None or count * numbers(tokens) > room)):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def batched(model: Any, encoder: Encoder, records: Sequence[Encoded], size: int, rows: Sequence[int] | None = None,
            check: Callable[[], None] = lambda: None, numbers: Numbers | None = None
            ) -> Iterator[tuple[list[int], Batch]]:
    """(rows, their batch where the model's inputs go), as `batches` divides them; `check` is called before each."""
    device = device_of(model)
    for own in batches(records, size, device, rows, numbers):
        check()
        yield own, encoder.batch([records[row] for row in own]).to(device)


@torch.no_grad()
def read(model: Any, encoder: Encoder, records: Sequence[Encoded], readers: Sequence[Callable[[Logits, Batch], Tensor]],
         size: int = 8, check: Callable[[], None] = lambda: None) -> Tensor:
    """Every reader (logits, batch) -> (b,) of every record, (len(records), len(readers)) on the CPU."""
    model.eval()
    values = torch.empty(len(records), len(readers), dtype=torch.float32)
    for rows, batch in batched(model, encoder, records, size, check=check):
        logits, _ = forward(model, batch)
        for column, reader in enumerate(readers):
            values[rows, column] = reader(logits, batch).float().cpu()
    return values
