"""The linear layer that reads the logits off the representation, found by watching a forward pass.

In which order a module registers its layers says nothing of the order in which it calls them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from engine.basics.errors import InvalidInput


@dataclass(frozen=True)
class _Call:
    """One call of a linear layer in a forward pass. version: of the output, raised by whatever changes it in place."""

    layer: nn.Linear
    read: Tensor
    output: Tensor
    version: int

    def gave(self, logits: Tensor) -> bool:
        """Whether the logits are the very output, with nothing done to it afterwards."""
        same = self.output.data_ptr() == logits.data_ptr() and self.output.shape == logits.shape
        return same and self.output.stride() == logits.stride() and self.output._version == self.version


def readout(module: nn.Module, x: Tensor) -> str:
    """The name of the linear layer whose output f(x) is, for inputs x (b, …).

    Raises `InvalidInput` where the logits are no linear layer's output as it stands (a temperature, an activation or a
    sum comes after it), where that layer is called more than once or shares its weights with another, and where it
    computes something else than Wφ + b.
    """
    logits, calls = _watched(module, x)
    last = next((call for call in calls if call.gave(logits)), None)
    if last is None:
        raise InvalidInput("The model does not end in a linear layer: the logits are not the output of the model's "
                           "last linear layer, so there is no representation to compare; let it return that output, or "
                           "use the intervention `add_occurrence` with an estimator that reads gradients.")
    name = next(name for name, layer in module.named_modules() if layer is last.layer)
    if sum(call.layer is last.layer for call in calls) > 1 or _shared(module, last.layer):
        raise InvalidInput(f"The layer `{name}`, whose output the logits are, is called more than once or shares its "
                           "weights with another, so it is not a readout of one representation; use an estimator "
                           "that reads gradients.")
    if not torch.allclose(linear(last.read, last.layer.weight, last.layer.bias), logits, rtol=1e-3, atol=1e-3):
        raise InvalidInput(f"The layer `{name}`, whose output the logits are, is not linear in its input; use an "
                           "estimator that reads gradients.")
    return name


def _watched(module: nn.Module, x: Tensor) -> tuple[Tensor, list[_Call]]:
    """f(x) and the calls of linear layers on the way, in their order."""
    calls: list[_Call] = []

    def record(layer: nn.Linear, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if inputs:
            calls.append(_Call(layer, inputs[0], output, output._version))

    hooks = [layer.register_forward_hook(record) for layer in module.modules() if isinstance(layer, nn.Linear)]
    try:
        with torch.no_grad():
            return module(x), calls
    finally:
        for hook in hooks:
            hook.remove()


def _shared(module: nn.Module, layer: nn.Linear) -> bool:
    """Whether the module has the layer's weight under a second name."""
    return sum(value is layer.weight for _, value in module.named_parameters(remove_duplicate=False)) > 1
