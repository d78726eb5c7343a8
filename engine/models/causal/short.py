"""Passes that compute neither logits that nothing reads nor much padding, and which models allow them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from engine.models.causal.encoding import Batch
from engine.models.causal.unpadded import Attention, Unpadded
from engine.models.causal.unread import Unread

ROUNDING = 0.05
"""How far states of bfloat16 passes may be from each other, relative to their length."""
RECORDS = ((3, 1, 2), (2, 3))
"""Tokens of the records that a model is tried on."""


def read_shortly(model: Any, batch: Batch, columns: Tensor) -> Unread:
    """The logits of the columns of a batch, (b, R, V); those of padding are of another token."""
    position = (batch.mask.flatten().cumsum(0) - 1).clamp_min(0).view_as(batch.mask)  # of each token in the row
    states = _states(model, Unpadded.of(batch))[0].index_select(0, position[:, columns].flatten())
    return Unread(states.view(len(batch), len(columns), -1), model.get_output_embeddings().weight, batch.targets,
                  batch.response)


def can_be_short(model: Any) -> bool:
    """Whether that gives the logits of a causal model of transformers whose matrices are bfloat16.

    Its head has to be one frozen product with nothing behind it, and its layers may mix tokens by attention to all
    earlier ones alone, which has to be that of transformers' interface. All of it has to be on one device.
    """
    head = model.get_output_embeddings()
    if type(head) is not nn.Linear or head.weight.requires_grad:
        return False
    if model not in _TRIED:
        config = model.config.get_text_config().to_dict()
        whole = set(config.get("layer_types") or ["full_attention"]) == {"full_attention"}
        whole = whole and len({parameter.device for parameter in model.parameters()}) == 1
        _TRIED[model] = whole and not config.get("sliding_window") and head.bias is None and _tried(model, head)
    return _TRIED[model]


_TRIED: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


def _states(model: Any, row: Unpadded) -> Tensor:
    """What the head reads, (1, N, d)."""
    return model.get_decoder()(input_ids=row.ids, position_ids=row.positions, use_cache=False,
                               unpadded=row).last_hidden_state


@dataclass(frozen=True)
class _Watched(Unpadded):
    """A row that notes the modules which ask it for their attention."""

    attended_by: list[Any] = field(default_factory=list)

    @classmethod
    def of_tokens(cls, records: tuple[tuple[int, ...], ...], device: torch.device) -> _Watched:
        lengths = tuple(map(len, records))
        positions = torch.cat([torch.arange(length) for length in lengths])[None]
        return cls(torch.tensor([sum(records, ())], device=device), positions.to(device), lengths)

    def attended(self, attention: Attention, module: Any, *row: Tensor, **options: Any) -> Tensor:
        self.attended_by.append(module)
        return super().attended(attention, module, *row, **options)


@torch.no_grad()
def _tried(model: Any, head: nn.Linear) -> bool:
    """Whether every layer asks for attention, the second record is read as it is alone, and logits are what the head
    returns for these states."""
    device = head.weight.device
    both, alone = (_Watched.of_tokens(records, device) for records in (RECORDS, RECORDS[1:]))
    seen: dict[str, Any] = {}
    hook = head.register_forward_hook(lambda _, inputs, output: seen.update(states=inputs[0], logits=output))
    try:
        with torch.autocast(device.type, torch.bfloat16):
            logits = model(input_ids=both.ids, position_ids=both.positions, use_cache=False, unpadded=both).logits
            states, second = _states(model, both), _states(model, alone)
    except TypeError:  # the model's own forward takes no option that it does not know
        return False
    finally:
        hook.remove()
    apart = (states[:, -second.shape[1]:] - second).norm() <= ROUNDING * second.norm()
    return (len(alone.attended_by) == model.config.get_text_config().num_hidden_layers and bool(apart)
            and logits is seen.get("logits") and torch.equal(seen["states"], states))
