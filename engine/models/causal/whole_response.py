r"""What is read of whole responses as a further column of a `TokenReader`: log-odds, and the divergence from the model
without adapters.

    Odds         f − log(1 − eᶠ), f the mean log-likelihood of the response's tokens
    Divergence   −(1/|R|) Σ_t Σ_v p_t(v) log(p_t(v)/p⁰_t(v)), p⁰ with every adapter's B at zero
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from engine.basics.errors import InvalidInput
from engine.models.causal import lora
from engine.models.causal.alone import logits_alone
from engine.models.causal.encoding import Batch
from engine.models.causal.reader import TokenReader
from engine.models.causal.readouts import mean_response_likelihood
from engine.question.likelihood import LEAST_DOUBT


@dataclass(frozen=True)
class Odds:
    """A row's part is one number, which is not read; 0 of a record without a response."""

    width: int = 1

    def read(self, reader: TokenReader, rows: Tensor, batch: Batch, logits: Tensor) -> Tensor:
        likelihood = mean_response_likelihood(logits, batch)
        odds = likelihood - (-likelihood.expm1()).clamp_min(LEAST_DOUBT).log()
        return odds.where(batch.response.any(1), 0.0)


@dataclass(frozen=True)
class Divergence:
    """A row's part is one number, which is not read. Raises `InvalidInput` for a model without adapters."""

    width: int = 1

    def read(self, reader: TokenReader, rows: Tensor, batch: Batch, logits: Tensor) -> Tensor:
        base = base_logits(reader.model, batch).log_softmax(-1)
        own = logits.log_softmax(-1)
        of_tokens = (own.exp() * (own - base)).sum(-1) * batch.response
        return -of_tokens.sum(1) / batch.response.sum(1).clamp_min(1)


def base_logits(model: Any, batch: Batch) -> Tensor:
    """Where the last R tokens are predicted by the model without its adapters, (b, R, V), without gradients."""
    adapted = lora.layers(model)
    if not adapted:
        raise InvalidInput("`base_kl` compares a model with itself without adapters, and this one has none; train "
                           "adapters (`rank` of its recipe), or read `response_loss`.")
    zeros = {f"model.{layer.name}.lora_B.{lora.ADAPTER}.weight": torch.zeros_like(layer.b.weight) for layer in adapted}
    with torch.no_grad():
        return functional_call(_Alone(model), zeros, (batch,))


class _Alone(nn.Module):
    """`logits_alone` as a module, whose parameters can be replaced."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        return logits_alone(self.model, batch)
