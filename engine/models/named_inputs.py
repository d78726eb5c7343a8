"""Models that take several named tensors, such as tokens and their mask, as functions of one row of numbers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.models.wrapped import logits_of

Slots = tuple[tuple[str, torch.Size, torch.dtype], ...]
"""(name, shape of one example, type) of every input, in the order in which they lie in a row."""
LARGEST = 2**24
"""Whole numbers up to here are themselves in float32."""


def slots_of(inputs: Mapping[str, Tensor]) -> Slots:
    """Of inputs (n, …)."""
    return tuple((name, value.shape[1:], value.dtype) for name, value in inputs.items())


def pack(inputs: Mapping[str, Tensor]) -> Tensor:
    """One row an example, (n, width) float64. Raises `InvalidInput` for inputs of different length, none, and whole
    numbers that a row does not hold."""
    if len({len(value) for value in inputs.values()}) != 1:
        raise InvalidInput("The named inputs hold different numbers of examples, or there are none; give one "
                           "row per example in each.")
    for name, value in inputs.items():
        if not value.is_floating_point() and value.numel() and value.double().abs().max() > LARGEST:
            raise InvalidInput(f"The input `{name}` holds whole numbers above {LARGEST:,}, which are rounded here; "
                               "give smaller ones.")
    return torch.cat([value.flatten(1).double() if value.ndim > 1 else value[:, None].double()
                      for value in inputs.values()], 1)


class NamedInputs(nn.Module):
    """A module that takes keyword arguments, or one dictionary of them, called with rows of them (b, width). Its logits
    are what it returns, or the `logits` of that, as models of transformers have them."""

    def __init__(self, module: nn.Module, slots: Slots) -> None:
        super().__init__()
        self.module, self.slots = module, slots
        taken = inspect.signature(module.forward).parameters
        self.whole = len(taken) == 1 and taken.keys().isdisjoint(name for name, _, _ in slots) and all(
            one.kind is one.POSITIONAL_OR_KEYWORD for one in taken.values())

    def forward(self, rows: Tensor) -> Tensor:
        parts = rows.split([shape.numel() for _, shape, _ in self.slots], 1)
        named = {name: part.reshape(len(rows), *shape).to(rows.dtype if kind.is_floating_point else kind)
                 for part, (name, shape, kind) in zip(parts, self.slots, strict=True)}
        return logits_of(self.module(named) if self.whole else self.module(**named))
