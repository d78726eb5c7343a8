r"""Hooks on the calls of a module's layers: what went in, and the derivative with respect to what came out.

    with tapped(layers, see): …                       see(key, layer, input, output) at every call
    value, calls = recorded(layers, run)              every call with its input
    output_gradients(value, calls, direction)         ∂⟨value, direction⟩/∂output of every call
    with streamed(layers, arrived): …                 arrived(key, input, ∂/∂output), one call after another in backward

The derivatives of a call are those of its output as it was returned, whatever an operation in place did to it later.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

Arrived = Callable[[Any, Tensor, Tensor], None]
"""(key, input, output gradient) of a call that a backward pass has reached."""
See = Callable[[Any, nn.Module, Tensor, Tensor], Tensor | None]
"""(key, module, input, output) of a call; a tensor that is returned stands for the output."""


@contextmanager
def tapped(modules: Iterable[tuple[Hashable, nn.Module]], see: See) -> Iterator[None]:
    """Within it `see` is told of every call of the modules, each under its key."""
    def hook(key: Hashable) -> Callable:
        def call(module: nn.Module, inputs: tuple, named: dict, output: Tensor) -> Tensor | None:
            return see(key, module, inputs[0] if inputs else named["input"], output)

        return call

    handles = [module.register_forward_hook(hook(key), with_kwargs=True) for key, module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@dataclass(frozen=True)
class ModuleCall:
    """One call: whose, what went in, detached, the shape of what came out, and where that stands in the graph (None
    where no derivative reaches it)."""

    key: Any
    module: nn.Module
    inputs: Tensor
    shape: torch.Size
    edge: GradientEdge | None


def recorded(modules: Iterable[tuple[Hashable, nn.Module]], run: Callable[[], Tensor]
             ) -> tuple[Tensor, list[ModuleCall]]:
    """What `run()` returns, with gradients on, and the calls of the modules within it, in their order."""
    calls: list[ModuleCall] = []

    def see(key: Hashable, module: nn.Module, inputs: Tensor, output: Tensor) -> None:
        edge = get_gradient_edge(output) if output.requires_grad else None
        calls.append(ModuleCall(key, module, inputs.detach(), output.shape, edge))

    with tapped(modules, see), torch.enable_grad():
        return run(), calls


@contextmanager
def streamed(modules: Iterable[tuple[Hashable, nn.Module]], arrived: Arrived) -> Iterator[None]:
    """Within it `arrived` is handed the input and the output's gradient of each call as soon as a backward pass reaches
    it, so that those of one layer are held at a time."""
    def see(key: Hashable, module: nn.Module, inputs: Tensor, output: Tensor) -> None:
        if output.requires_grad:
            held = inputs.detach()
            output.register_hook(lambda gradient: arrived(key, held, gradient))

    with tapped(modules, see):
        yield


def output_gradients(value: Tensor, calls: Sequence[ModuleCall], direction: Tensor | None = None, *,
                     keep: bool = False) -> list[Tensor | None]:
    """∂⟨value, direction⟩/∂output of every call, None where there is none; keep: the graph, for another direction."""
    reached = [call.edge for call in calls if call.edge is not None]
    if not reached:
        return [None] * len(calls)
    gradients = iter(torch.autograd.grad(value, reached, direction, allow_unused=True, retain_graph=keep))
    return [None if call.edge is None else next(gradients) for call in calls]
