"""Passes that read every record as it is alone, by any causal model: what fills up a batch stands behind records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from engine.models.causal.encoding import Batch


def alone(model: Any, batch: Batch, **options: Any) -> Any:
    """The model's own answer to records from their first token on, each with other tokens behind its last.

    No token sees those behind it, so that each record is read as it is alone, whatever mask, window, state or bias of
    positions the model has of its own.
    """
    count, width = batch.ids.shape
    behind = torch.arange(width, device=batch.ids.device) + padding(batch)[:, None]
    return model(input_ids=batch.ids.gather(1, behind.clamp_max(width - 1)), use_cache=False,
                 attention_mask=torch.ones(count, width, dtype=torch.long, device=behind.device), **options)


def logits_alone(model: Any, batch: Batch) -> Tensor:
    """Where the last R tokens of a record are predicted, (b, R, V), by `alone`; of a shorter record R of its tokens."""
    columns, read = (predicting(batch) - padding(batch)[:, None]).clamp_min(0)[..., None], []

    def select(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        read.append(True)
        return inputs[0].gather(1, columns.expand(-1, -1, inputs[0].shape[-1])), *inputs[1:]

    head = causal(model).get_output_embeddings()
    hook = head.register_forward_pre_hook(select) if head is not None else None
    try:
        logits = alone(model, batch).logits
    finally:
        if hook is not None:
            hook.remove()
    return logits if read else logits.gather(1, columns.expand(-1, -1, logits.shape[-1]))


def padding(batch: Batch) -> Tensor:
    """How many columns stand before a record's first token, (b,)."""
    return batch.ids.shape[1] - batch.mask.sum(1)


def narrowed(batch: Batch) -> Batch:
    """Without the columns before the longest record, but for one more than the last R."""
    width, least = batch.ids.shape[1], batch.targets.shape[1] + 1
    before = width - max(least, int(batch.mask.sum(1).max()))
    return replace(batch, ids=batch.ids[:, before:], mask=batch.mask[:, before:],
                   positions=batch.positions[:, before:], prompt_end=batch.prompt_end - before)


def states_alone(model: Any, batch: Batch) -> tuple[Tensor, ...]:
    """What the embeddings and every layer return, (layers + 1) × (b, T, d), in the columns of the batch."""
    columns = torch.arange(batch.ids.shape[1], device=batch.ids.device) - padding(batch)[:, None]
    return tuple(states.gather(1, columns.clamp_min(0)[..., None].expand_as(states))
                 for states in alone(model, batch, output_hidden_states=True).hidden_states)


def causal(model: Any) -> Any:
    """The causal model of transformers, without what PEFT has around it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def predicting(batch: Batch) -> Tensor:
    """The columns whose logits predict the last R tokens."""
    width, tail = batch.ids.shape[1], batch.targets.shape[1]
    return torch.arange(width - tail - 1, width - 1, device=batch.ids.device)
