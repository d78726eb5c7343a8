"""Behaviors of an attribution that read a range of one query's tokens: `tokens@4:2-7`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated

import torch
from pydantic import AfterValidator
from torch import Tensor

from engine.data.records import Record
from engine.models.causal.encoding import Batch, Encoder
from engine.models.causal.marked import Weights
from engine.models.causal.packed import Packing
from engine.models.causal.posed import Texts, posed
from engine.models.causal.readouts import Logits, marked_likelihood
from engine.question.worded import TokenRange, ranged

Ranges = tuple[Annotated[str, AfterValidator(lambda name: ranged(name).spelling)], ...]
"""The names of such behaviors."""


def flagged(encoder: Encoder, ranges: Ranges, records: Sequence[Record]) -> dict[str, Tensor]:
    """Name -> the tokens that a behavior reads, flags (m, R) of the last R tokens of queries. Raises `InvalidInput` for
    a range that is not there."""
    texts = Texts(encoder, Packing.of([encoder.encode(record) for record in records]), records)
    return {name: posed(ranged(name), texts)[1] for name in ranges}


def readers(flags: Mapping[str, Tensor], rows: Sequence[int], batch: Batch
            ) -> dict[str, Callable[[Logits, Batch], Tensor]]:
    """What reads them off a batch of the queries in `rows`."""
    width = batch.targets.shape[1]
    return {name: partial(marked_likelihood, marked=own[rows][:, -width:].to(batch.ids.device))
            for name, own in flags.items()}


def weights(tokens: TokenRange, query: int) -> Weights:
    """Those of the mean over the range, in float64; 0 of any other query."""
    def own(batch: Batch) -> Tensor:
        values = torch.zeros_like(batch.response, dtype=torch.float64)
        if query == tokens.query:
            values[:, tokens.first:tokens.last + 1] = 1 / tokens.count
        return values

    return own
