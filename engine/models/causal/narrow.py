"""A language model whose matrices are bfloat16 on a CPU, with all other weights in float32.

What the layers add to each other, normalisations and embeddings stay float32, where rounding would add up over the
depth. So does attention, whose backward kernel is slower in bfloat16 there. The head keeps its weights, but its product
is one of bfloat16 like that of the other matrices.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from engine.models.causal.unpadded import Unpadded


def narrow_matrices(model: Any) -> None:
    """Round the weights of the linear maps to bfloat16, but for those of the head, which embeddings may share."""
    head = model.get_output_embeddings()
    for module in model.modules():
        if isinstance(module, nn.Linear) and module is not head:
            module.to(torch.bfloat16)
    _attend_in_single()


def is_narrow(model: nn.Module) -> bool:
    """Whether weights are bfloat16, so that passes run in it."""
    return any(parameter.dtype == torch.bfloat16 for parameter in model.parameters())


def _attend_in_single() -> None:
    """Let torch's own attention (`sdpa` of transformers) compute in float32 where a CPU is given bfloat16."""
    from transformers import AttentionInterface

    AttentionInterface.register("sdpa", _attended)


def _attended(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None,
              unpadded: Unpadded | None = None, **options: Any) -> tuple[Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if query.device.type != "cpu" or value.dtype != torch.bfloat16:  # a rotated query may be float32 under autocast
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    with torch.autocast("cpu", enabled=False):
        single = query.float(), key.float(), value.float()
        found = (unpadded.attended(sdpa_attention_forward, module, *single, **options) if unpadded is not None
                 else sdpa_attention_forward(module, *single, attention_mask, **options)[0])
    return found.to(value.dtype), None
