r"""Per-example gradients by `torch.func`, vmap of grad through the functional call of a network.

A model or a loss that vmap does not take, such as one with control flow on its values, is differentiated one example at
a time; which of the two a network takes is found out once, on one example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.func import grad, vmap

from engine.gradients.attention import plain_attention
from engine.gradients.chunks import BUDGET, activation_bytes, allocated, fitting, in_chunks, unchecked
from engine.gradients.findings import computed_once, first_that_works
from engine.models.link import Link
from engine.models.network import Network

Read = Callable[[Tensor, Tensor], Tensor]
"""What is differentiated: (logits (b, C), targets (b, …)) -> (b,)."""
Outputs = Callable[[Tensor, Mapping[str, Tensor]], Tensor]
"""(inputs (b, …), the selected parameters) -> what is read."""


def along_signal(logits: Tensor, signal: Tensor) -> Tensor:
    """s · f: (b, …), (b, …) -> (b,)."""
    return (logits * signal).flatten(1).sum(1)


def gradients_of(network: Network, x: Tensor, targets: Tensor, read: Read, theta: Tensor | None = None,
                 budget: int = BUDGET, names: Sequence[str] | None = None, *, link: Link | None = None,
                 check: Callable[[], None] = unchecked) -> Tensor:
    """∇ read(f_θ(x), targets) of every example with respect to the parameters `names` (all selected): (b, P').

    link: whose outputs are read in place of f.
    """
    outputs, key = (network.at, ("per example", read)) if link is None else (link.outputs, ("per example", read, link))
    names = network.names if names is None else tuple(names)
    fixed = network.unflatten(network.theta if theta is None else theta.detach())
    moving = {name: fixed.pop(name) for name in names}
    sizes = [moving[name].numel() for name in names]
    route = computed_once(network, key, lambda: first_that_works(
        ROUTES, lambda route: route(outputs, moving, fixed, x[:1], targets[:1], read)))
    out = allocated("per-example gradients", len(x), sum(sizes), like=network.theta)

    def run(chunk: slice) -> None:
        gradients = route(outputs, moving, fixed, x[chunk], targets[chunk], read)
        for name, columns in zip(names, out[chunk].split(sizes, 1), strict=True):
            columns.copy_(gradients[name].reshape(len(columns), -1))

    one = 4 * activation_bytes(network, x) + 2 * sum(sizes) * out.element_size()
    in_chunks(run, len(x), fitting(one, budget, out.device), check)
    return out


def vectorised(outputs: Outputs, moving: dict, fixed: dict, x: Tensor, targets: Tensor, read: Read) -> dict:
    """name -> (b, *shape), all examples at once."""
    def one(parameters: dict, example: Tensor, target: Tensor) -> Tensor:
        return read(outputs(example[None], parameters | fixed), target[None]).sum()

    with plain_attention():
        return vmap(grad(one), in_dims=(None, 0, 0))(moving, x, targets)


def one_by_one(outputs: Outputs, moving: dict, fixed: dict, x: Tensor, targets: Tensor, read: Read) -> dict:
    """name -> (b, *shape), by a backward pass an example."""
    leaves = {name: value.detach().clone().requires_grad_() for name, value in moving.items()}
    rows = []
    with torch.enable_grad():
        for example, target in zip(x, targets, strict=True):
            value = read(outputs(example[None], leaves | fixed), target[None]).sum()
            rows.append(torch.autograd.grad(value, list(leaves.values()), allow_unused=True, materialize_grads=True))
    return {name: torch.stack(column) for name, column in zip(leaves, zip(*rows, strict=True), strict=True)}


ROUTES = (vectorised, one_by_one)
