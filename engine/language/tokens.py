r"""Which tokens of a training record its influence comes from.

A record's loss is the mean of its tokens' losses, so GradSim's score is a sum over tokens t of the response R:

    −⟨v, ∇ℓ(z_k)⟩ = Σ_t (1/|R|) ∂/∂ε log p_t(θ + ε v),        v the mean of ∇B over the queries.

The derivative is a central difference, two forward passes for all tokens of a batch of records.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from engine.language import gradients, lora, passes
from engine.language.behaviors import token_log_probabilities
from engine.language.encoding import Encoded, Encoder

NUDGE = 1e-3
"""Length of ε v as a share of the length of the adapters' weights."""


def direction(model, encoder: Encoder, queries: Sequence[Encoded], reader, size: int = 8,
              check=lambda: None) -> dict[str, Tensor]:
    """The mean of ∇B over queries, by parameter."""
    total = {name: torch.zeros_like(parameter, dtype=torch.float32)
             for name, parameter in lora.trained(model).items()}

    def add(name: str, found: Tensor) -> None:
        total[name] += found.sum(0)

    with gradients.tapped(model) as tap:
        for rows in passes.batches(queries, size):
            check()
            batch = encoder.batch([queries[row] for row in rows]).to(passes.device_of(model))
            gradients.record_gradients(model, tap, batch, [reader], [add])
    return {name: value / len(queries) for name, value in total.items()}


@torch.no_grad()
def contributions(model, encoder: Encoder, records: Sequence[Encoded], towards: dict[str, Tensor], size: int = 8,
                  check=lambda: None) -> list[np.ndarray]:
    """For each record the part of its score that each response token brings, in order; positive supports."""
    model.eval()
    start = {name: parameter.detach().clone() for name, parameter in lora.trained(model).items()}
    scale = NUDGE * _length(start) / max(_length(towards), torch.finfo(torch.float32).tiny)
    sides = []
    try:
        for sign in (1.0, -1.0):
            lora.put(model, {name: value + sign * scale * towards[name] for name, value in start.items()})
            sides.append(_log_probabilities(model, encoder, records, size, check))
    finally:
        lora.put(model, start)
    return [(up - down) / (2 * scale * len(up)) for up, down in zip(*sides, strict=True)]


def _length(parts: dict[str, Tensor]) -> float:
    return float(torch.stack([value.float().square().sum().cpu() for value in parts.values()]).sum().sqrt())


def _log_probabilities(model, encoder: Encoder, records: Sequence[Encoded], size: int, check) -> list[np.ndarray]:
    found: list = [None] * len(records)
    for rows in passes.batches(records, size):
        check()
        batch = encoder.batch([records[row] for row in rows]).to(passes.device_of(model))
        logits, _ = passes.forward(model, batch)
        values = token_log_probabilities(logits.double() if not logits.is_cuda else logits, batch)
        for place, row in enumerate(rows):
            found[row] = values[place][batch.response[place]].double().cpu().numpy()
    return found
