"""Attention of transformers' models as passes here want it: in float32 on a CPU, of records without padding, and by
kernels of a GPU whose derivatives are finite."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from engine.models.causal.unpadded import Unpadded

KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""What may compute attention on a GPU: not cuDNN, which torch asks first on some of them, and whose derivatives are no
numbers for some shapes and masks (github.com/pytorch/pytorch/issues/196678, NVIDIA/cudnn-frontend/issues/1072)."""


NAME, OF_MODEL = "whichfluence_sdpa", "_attn_implementation"
"""What it is called among transformers' kinds of attention, and where a configuration says which kind its model has,
which transformers has no public way to ask."""


def attend(model: Any) -> None:
    """Let a model that attends by torch's own kernels (`sdpa` of transformers) heed an `unpadded` row, compute in
    float32 where a CPU is given bfloat16, and keep to `KERNELS` on a GPU. Other models are left as they are."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    if getattr(model.config, OF_MODEL) == "sdpa":
        AttentionInterface.register(NAME, attended)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)


def attended(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None,
             unpadded: Unpadded | None = None, **options: Any) -> tuple[Tensor, None]:
    """As transformers asks for attention: the values (b, T, H, D), and no weights."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    def attend_to(*row: Tensor) -> Tensor:
        return (unpadded.attended(sdpa_attention_forward, module, *row, **options) if unpadded is not None
                else sdpa_attention_forward(module, *row, attention_mask, **options)[0])

    if query.device.type == "cuda":
        with sdpa_kernel(KERNELS):
            return attend_to(query, key, value), None
    if query.device.type != "cpu" or value.dtype != torch.bfloat16:  # a rotated query may be float32 under autocast
        return attend_to(query, key, value), None
    with torch.autocast("cpu", enabled=False):
        return attend_to(query.float(), key.float(), value.float()).to(value.dtype), None
