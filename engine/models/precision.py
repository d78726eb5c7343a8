"""In which precision the passes of a training run: in bfloat16 where a recipe allows it and the device gains from it.

Weights, loss and steps are in the precision of the training in any case. On a CPU, trainings whose results are
subtracted from each other never run in bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from engine.models.gain import ENOUGH, gain


@dataclass(frozen=True)
class PassPrecision:
    """How passes run on a kind of device. narrow: whether in bfloat16. description: in words, for a manifest."""

    device: str
    narrow: bool
    description: str

    def __call__(self) -> AbstractContextManager:
        """Within it, forward passes run so; their backward passes follow."""
        return torch.autocast(self.device, torch.bfloat16, enabled=self.narrow)


@contextmanager
def without_tf32() -> Iterator[None]:
    """float32 on a GPU has all of its bits within: ten bits of mantissa would drown small interventions. For processes
    that are not our own, which `engine.basics.environment` asks for it."""
    settings: list[Any] = [torch.backends.cudnn, torch.backends.cuda.matmul]
    before = [one.allow_tf32 for one in settings]
    for one in settings:
        one.allow_tf32 = False
    try:
        yield
    finally:
        for one, value in zip(settings, before, strict=True):
            one.allow_tf32 = value


def at_least_single(values: Tensor) -> Tensor:
    """In float32 where a model computes in half of it, else as they are."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def passes_of(module: nn.Module, device: torch.device, precision: torch.dtype, *, mixed: bool, exact: bool = False
              ) -> PassPrecision:
    """Of a training of `module` in a precision. mixed: whether its recipe allows bfloat16. exact: whether what it
    leads to is subtracted from what another training leads to."""
    return _passes(device, precision, mixed, exact, lambda: gain().of(module))


def passes_of_matrices(device: torch.device, precision: torch.dtype, *, mixed: bool) -> PassPrecision:
    """Of a training of what consists of matrices, before it is there."""
    return _passes(device, precision, mixed, False, lambda: gain().matrices)


def _passes(device: torch.device, precision: torch.dtype, mixed: bool, exact: bool, measure: Callable[[], float]
            ) -> PassPrecision:
    wide = str(precision).removeprefix("torch.")
    if not mixed or precision != torch.float32:
        return PassPrecision(device.type, False, wide)
    if device.type == "cuda":
        return PassPrecision(device.type, True, "bfloat16")
    if device.type != "cpu":
        return PassPrecision(device.type, False, wide)
    if exact:
        return PassPrecision(device.type, False, f"{wide}, since results are subtracted")
    measured = measure()
    if measured < ENOUGH:
        return PassPrecision(device.type, False,
                             f"{wide}, since bfloat16 is not faster here (measured gain {measured:.1f})")
    return PassPrecision(device.type, True, f"bfloat16 (measured gain {measured:.1f})")
