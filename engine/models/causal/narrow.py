"""A language model whose matrices are bfloat16 on a CPU, with all other weights in float32.

What the layers add to each other, normalisations and embeddings stay float32, where rounding would add up over the
depth. So does attention, whose backward kernel is slower in bfloat16 there. The head keeps its weights, but its product
is one of bfloat16 like that of the other matrices.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from engine.models.causal.attending import attend
from engine.models.causal.normed import with_short_norms
from engine.models.quantised import QuantisedLinear


def narrow_matrices(model: Any) -> None:
    """Round the weights of the linear maps to bfloat16, but for those of the head, which embeddings may share, and
    those that are quantised."""
    head = model.get_output_embeddings()
    for module in model.modules():
        if isinstance(module, nn.Linear) and not isinstance(module, QuantisedLinear) and module is not head:
            module.to(torch.bfloat16)
    ready_passes(model)


def ready_passes(model: Any) -> None:
    """Let a model whose matrices are bfloat16 attend as `attending` says, and normalise as `normed` does."""
    attend(model)
    with_short_norms(model)


def is_narrow(model: nn.Module) -> bool:
    """Whether weights are bfloat16, so that passes run in it."""
    return any(parameter.dtype == torch.bfloat16 for parameter in model.parameters())
