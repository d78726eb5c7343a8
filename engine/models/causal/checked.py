"""Whether a model reads a record here as plain transformers reads it alone: asked of every model before its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.models.causal import passes
from engine.models.causal.encoding import Encoded
from engine.models.causal.narrow import is_narrow
from engine.models.causal.reader import TokenReader
from engine.models.causal.readouts import mean_response_likelihood
from engine.models.outputs_only import outputs_only
from engine.question.token_behaviors import RESPONSE

SPARSE = ("index_topk", "index_topk_blocks", "indexer_budget")
"""How a configuration names the number of tokens, or of blocks of them, that attention chooses by scores of its own."""
SCALED = ("dynamic", "longrope")
"""Rotary positions that are scaled by the length of what is read."""
NEAR, NEAR_NARROW = 1e-3, 5e-2
"""By how much the log-likelihood per token may differ, of its size or of 1 nat: of passes in bfloat16 by more."""


def check_reading(reader: TokenReader, rows: Tensor, encoded: Sequence[Encoded]) -> None:
    """The log-likelihood per token of the longest and the shortest record, packed together, as scores and as trainings
    read it, against what plain transformers gives for each alone. rows (n, width): the packed records.

    Raises `InvalidInput` with both numbers where they differ, and where the model cannot pass over a record.
    """
    lengths = [len(item.ids) for item in encoded]
    config: Any = reader.model.config
    settings = config.get_text_config().to_dict()
    _check_positions(settings, lengths)
    _check_chosen(settings, lengths)
    chosen = sorted({lengths.index(max(lengths)), lengths.index(min(lengths))})
    try:
        ours, alone = _read(reader, rows[chosen], [encoded[row] for row in chosen])
    except (AttributeError, TypeError, IndexError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"This model cannot process a record ({type(error).__name__}: "
                           f"{' '.join(str(error).split())[:160]}); try it with transformers alone, and choose other "
                           "layers for the adapters (`targets`).") from error
    near = NEAR_NARROW if is_narrow(reader.model) else NEAR
    for pass_outputs in ours:
        for row, here, there in zip(chosen, pass_outputs.tolist(), alone, strict=True):
            if not math.isfinite(there):
                raise InvalidInput(f"The likelihood of record {row} under the model is not finite; check its weights.")
            if not abs(here - there) <= near * max(1.0, abs(there)):
                raise InvalidInput(f"This model gives different results here and in plain transformers: record {row} "
                                   f"has {here:.6g} nats per token here and {there:.6g} alone. Its kind of attention "
                                   "or adapters is not supported.")


def _check_positions(config: Mapping[str, Any], lengths: Sequence[int]) -> None:
    """Raises `InvalidInput` where how positions are encoded depends on the longest record of a batch."""
    given = config.get("rope_parameters") or {}
    kinds = [given, *(own for own in given.values() if isinstance(own, Mapping))]
    for rope in kinds:
        limit = (rope.get("original_max_position_embeddings") or config.get("original_max_position_embeddings")
                 or config.get("max_position_embeddings") or max(lengths))
        if rope.get("rope_type") in SCALED and max(lengths) > limit and min(lengths) < max(lengths):
            raise InvalidInput(f"Records of this model have up to {max(lengths):,} tokens, and above {limit:,} its "
                               f"positions (`{rope['rope_type']}`) depend on the longest record of a batch; shorten "
                               "the records.")


def _check_chosen(config: Mapping[str, Any], lengths: Sequence[int]) -> None:
    """Raises `InvalidInput` where attention chooses tokens by scores that may tie: which it takes of those depends on
    how wide a batch is."""
    most = min((most for name in SPARSE if (most := config.get(name))), default=max(lengths))
    if max(lengths) > most and min(lengths) < max(lengths):
        raise InvalidInput(f"Records of this model have up to {max(lengths):,} tokens. Above {most:,} tokens its "
                           "attention selects tokens by scores, and how ties are broken depends on the longest record "
                           "of a batch; shorten the records.")


def _read(reader: TokenReader, rows: Tensor, encoded: Sequence[Encoded]) -> tuple[list[Tensor], list[float]]:
    """(the log-likelihoods as scores and as trainings read them, those of each record alone)."""
    device, training = passes.device_of(reader.model), reader.training
    reader.eval()
    try:
        with outputs_only():
            batch = reader.packing.unpack(rows.to(device))
            ours = [mean_response_likelihood(passes.forward(reader.model, batch)[0], batch)]
            if not is_narrow(reader.model):
                ours.append(reader(rows.to(device))[:, RESPONSE])
        with torch.no_grad(), passes.precision(reader.model, batch):
            return ours, [_alone(reader.model, record, device) for record in encoded]
    finally:
        reader.train(training)


def _alone(model: Any, record: Encoded, device: torch.device) -> float:
    """Mean log-likelihood of the response's tokens."""
    ids = torch.tensor(record.ids, device=device)
    logits = model(input_ids=ids[None], use_cache=False).logits[0].double()
    return logits[record.response - 1:-1].log_softmax(-1).gather(1, ids[record.response:, None]).mean().item()
