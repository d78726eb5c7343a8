r"""The loss of a record as a convex function of the logits of its response's tokens.

    c(u) = (1/|R|) Σ_{t ∈ M} [logsumexp_v u_tv − u_{t, z_t}]

with u (R', V) the logits where the last R' tokens of a record are predicted, which hold its response R; M ⊆ R are
the tokens whose loss counts, all of them unless a candidate is scored by some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor
from torch.func import functional_call

from engine.models.causal.packed import Packing
from engine.models.causal.reader import TokenReader, narrow_logits
from engine.models.causal.readouts import mean_response_likelihood
from engine.models.link import Link
from engine.models.network import Network


@dataclass(frozen=True)
class TokenLink(Link):
    """Of a `TokenReader` on packed records."""

    network: Network
    measured: ClassVar[int | None] = 1

    @property
    def packing(self) -> Packing:
        return cast(TokenReader, self.network.module).packing

    def outputs(self, x: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """(b, R', V)."""
        return functional_call(self.network.module, dict(values), (x,), {"read": narrow_logits})

    def loss(self, outputs: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return -mean_response_likelihood(outputs, self.packing.unpack(x))

    def softmax_weights(self, x: Tensor) -> Tensor | None:
        """1/|R| at the tokens of the response whose loss counts, (b, R')."""
        batch = self.packing.unpack(x)
        return batch.scored.to(self.network.dtype) / batch.response.sum(1, keepdim=True)

    def by_length(self, x: Tensor, rows: Tensor) -> Tensor:
        return rows[self.packing.unpack(x[rows]).mask.sum(1).argsort(stable=True)]

    def present(self, x: Tensor, length: int) -> Tensor | None:
        """The head reads the positions that predict the last R tokens alone; every other layer a record from its first
        token on, and of more positions."""
        mask = self.packing.unpack(x).mask.bool()
        if length == self.packing.tail:
            return mask[:, -length - 1:-1]
        return torch.arange(length, device=x.device) < mask.sum(1, keepdim=True)
