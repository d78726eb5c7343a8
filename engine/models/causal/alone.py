"""Passes that read every record as it is alone, by any causal model.

What fills up a batch stands before records and is hidden by a mask, where a model heeds that, and behind them else.
"""

from __future__ import annotations

import inspect
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from engine.models.causal.encoding import Batch
from engine.models.causal.narrow import is_narrow
from engine.models.causal.short import ROUNDING

CLOSE = 1e-3
"""How far logits of two passes may be apart, relative to their length; those of bfloat16 passes by `ROUNDING`."""
_TRIED: WeakKeyDictionary[nn.Module, dict[torch.dtype, bool]] = WeakKeyDictionary()


def padded(model: Any, batch: Batch, read: Tensor, hidden: bool) -> tuple[Any, Any]:
    """(logits (b, R, V) of the columns `read`, hidden states (layers + 1) × (b, T, d) where `hidden`); one of them is
    None where records are read `alone`."""
    if _heeds_padding(model, batch.ids.device):
        return _masked(model, batch, read, hidden)
    return (None, states_alone(model, batch)) if hidden else (logits_alone(model, batch), None)


def _masked(model: Any, batch: Batch, read: Tensor, hidden: bool) -> tuple[Any, Any]:
    selects = "logits_to_keep" in inspect.signature(causal(model).forward).parameters
    output = model(input_ids=batch.ids, attention_mask=batch.mask, position_ids=batch.positions, use_cache=False,
                   output_hidden_states=hidden, **({"logits_to_keep": read} if selects else {}))
    return output.logits if selects else output.logits[:, read], output.hidden_states if hidden else None


def _heeds_padding(model: Any, device: torch.device) -> bool:
    """Whether a record with columns before its first token, which a mask hides, is read as it is alone: not where a
    model carries states from token to token, or has no number for a token that sees nothing."""
    tried = _TRIED.setdefault(causal(model), {})
    dtype = model.get_input_embeddings().weight.dtype
    if dtype not in tried:
        training, batch = model.training, _trial(device)
        try:
            with torch.no_grad():
                model.eval()
                own, masked = logits_alone(model, batch), _masked(model, batch, batch.predicting, False)[0]
            tried[dtype] = bool((masked - own).norm() <= (ROUNDING if is_narrow(model) else CLOSE) * own.norm())
        finally:
            model.train(training)
    return tried[dtype]


def _trial(device: torch.device) -> Batch:
    """Two records of three and two tokens, of which the last one is read."""
    ids, there = torch.tensor([[3, 1, 2], [0, 2, 3]]), torch.ones(2, 1, dtype=torch.bool)
    mask, one = torch.tensor([[1, 1, 1], [0, 1, 1]]), torch.zeros(2, dtype=torch.long)
    return Batch(ids, mask, (mask.cumsum(1) - 1).clamp_min(0), ids[:, 2:], there, ~there, one - 1, one[:, None] - 1,
                 one - 1, one + 1, there, ~there).to(device)


def alone(model: Any, batch: Batch, **options: Any) -> Any:
    """The model's own answer to records from their first token on, each with other tokens behind its last.

    No token sees those behind it, so that each record is read as it is alone, whatever mask, window, state or bias of
    positions the model has of its own.
    """
    count, width = batch.ids.shape
    behind = torch.arange(width, device=batch.ids.device) + batch.padding[:, None]
    return model(input_ids=batch.ids.gather(1, behind.clamp_max(width - 1)), use_cache=False,
                 attention_mask=torch.ones(count, width, dtype=torch.long, device=behind.device), **options)


def logits_alone(model: Any, batch: Batch) -> Tensor:
    """Where the last R tokens of a record are predicted, (b, R, V), by `alone`; of a shorter record R of its tokens."""
    columns, read = (batch.predicting - batch.padding[:, None]).clamp_min(0)[..., None], []

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


def states_alone(model: Any, batch: Batch) -> tuple[Tensor, ...]:
    """What the embeddings and every layer return, (layers + 1) × (b, T, d), in the columns of the batch."""
    columns = torch.arange(batch.ids.shape[1], device=batch.ids.device) - batch.padding[:, None]
    return tuple(states.gather(1, columns.clamp_min(0)[..., None].expand_as(states))
                 for states in alone(model, batch, output_hidden_states=True).hidden_states)


def causal(model: Any) -> Any:
    """The causal model of transformers, without what PEFT has around it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model

