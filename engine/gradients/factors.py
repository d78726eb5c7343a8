r"""The gradients of a batch by layer, from the factors that one forward and one backward pass leave behind.

For a linear layer, and for a convolution on its unfolded input, the gradient of an example is Σ_t G_t A_tᵀ: hooks keep
the inputs A (b, T, i) and the backward pass gives the output gradients G (b, T, o), so that no gradient with respect
to a parameter is computed. A layer that is called several times adds its calls along T. What is not such a layer
(normalisation, embeddings, grouped convolutions, tied weights, parameters that are used functionally) is written out
by `torch.func`.

Before a network's factors are relied on, they are compared on two examples with plain autograd, in float64 where the
module takes that; a layer that does not reproduce its gradients is written out as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.func import functional_call
from torch.nn.functional import unfold

from engine.gradients.findings import found_once
from engine.gradients.forms import Form, Rows, outer_or_rows
from engine.gradients.layout import arranged
from engine.gradients.per_example import Read, along_signal, gradients_of, one_by_one
from engine.models.network import Network

TOLERANCES = {torch.float64: 1e-8, torch.float32: 1e-4}
Factors = dict[str, tuple[Tensor, Tensor]]
"""A layer's name -> its inputs A (b, T, i) and output gradients G (b, T, o)."""


@dataclass(frozen=True)
class Layer:
    """A module with the names of its parameters that count."""

    name: str
    weight: str | None
    bias: str | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.weight, self.bias) if name)


@dataclass(frozen=True)
class Plan:
    """The layers whose factors are relied on, the parameters that are written out, and the numbers an example takes."""

    layers: tuple[Layer, ...]
    written: tuple[str, ...]
    numbers: int


def gradient_forms(network: Network, x: Tensor, targets: Tensor, read: Read, theta: Tensor | None = None) -> list[Form]:
    """∇ read(f_θ(x), targets) of every example of a batch, layer by layer, each in its cheapest form."""
    plan = planned(network, x)
    factors = captured(network, plan.layers, arranged(network, x), targets, read, theta) if plan.layers else {}
    place = network.slices.get
    forms = [form for layer in plan.layers
             for form in outer_or_rows(*factors.pop(layer.name), place(layer.weight), place(layer.bias))]
    if plan.written:
        rows = gradients_of(network, x, targets, read, theta, names=plan.written)
        sizes = [network.slices[name].stop - network.slices[name].start for name in plan.written]
        forms += [Rows(network.slices[name], values)
                  for name, values in zip(plan.written, rows.split(sizes, 1), strict=True)]
    return forms


def planned(network: Network, x: Tensor) -> Plan:
    """What is relied on for inputs like x, from a comparison on two of them that is made once."""
    return found_once(network, ("plan", tuple(x.shape[1:])), lambda: _planned(network, x[torch.arange(2) % len(x)]))


def _planned(network: Network, x: Tensor) -> Plan:
    layers = candidate_layers(network)
    twin = Network(network.module, network.selection, device=network.device, dtype=torch.float64)
    for own in (twin, network):
        try:
            return _reproduced(own, layers, x.to(own.dtype))
        except Exception:  # noqa: BLE001, S112 - whatever a module says that does not take float64, or no hooks
            continue
    return Plan((), network.names, 2 * network.size)


def _reproduced(network: Network, layers: Sequence[Layer], x: Tensor) -> Plan:
    """Which layers' factors give the gradients that plain autograd gives, for a random signal."""
    signal = torch.randn(network.predict(x).shape, generator=torch.Generator().manual_seed(0)).to(x)
    factors = captured(network, layers, x, signal, along_signal)
    expected = one_by_one(network, network.unflatten(network.theta), {}, x, signal, along_signal)
    sound = [layer for layer in layers if layer.name in factors
             and _agree(factors[layer.name], [expected.get(name) for name in (layer.weight, layer.bias)])]
    covered = {name for layer in sound for name in layer.names}
    written = tuple(name for name in network.names if name not in covered)
    held = sum(factor.numel() for layer in sound for factor in factors[layer.name]) // len(x)
    return Plan(tuple(sound), written, 2 * (held + sum(network.unflatten(network.theta)[name].numel()
                                                       for name in written)))


def _agree(factors: tuple[Tensor, Tensor], expected: Sequence[Tensor | None]) -> bool:
    inputs, outputs = factors
    found = ((outputs.mT @ inputs).flatten(1), outputs.sum(1))
    return all((own - other.flatten(1)).norm() <= TOLERANCES[own.dtype] * other.norm()
               for own, other in zip(found, expected, strict=True) if other is not None)


def captured(network: Network, layers: Sequence[Layer], x: Tensor, targets: Tensor, read: Read,
             theta: Tensor | None = None) -> Factors:
    """The factors of the layers that took part, from one forward pass and one backward pass to their outputs."""
    parameters = {name: value.detach().requires_grad_()
                  for name, value in network.unflatten(network.theta if theta is None else theta).items()}
    calls: list[tuple[Layer, Tensor, object]] = []

    def keep(layer: Layer) -> Callable:
        def hook(_module, inputs: tuple, named: dict, output: Tensor) -> None:
            if output.requires_grad:
                calls.append((layer, (inputs[0] if inputs else named["input"]).detach(), get_gradient_edge(output)))

        return hook

    hooks = [network.module.get_submodule(layer.name).register_forward_hook(keep(layer), with_kwargs=True)
             for layer in layers]
    try:
        with torch.enable_grad():
            value = read(functional_call(network.module, parameters, (x,)), targets).sum()
        gradients = torch.autograd.grad(value, [edge for _, _, edge in calls], allow_unused=True) if calls else ()
    finally:
        for hook in hooks:
            hook.remove()
    found: dict[str, list[tuple[Tensor, Tensor]]] = {}
    for (layer, inputs, _), gradient in zip(calls, gradients, strict=True):
        if gradient is not None:
            module = network.module.get_submodule(layer.name)
            found.setdefault(layer.name, []).append(KINDS[_kind(module)](module, inputs, gradient, len(x)))
    return {name: tuple(parts[0] if len(parts) == 1 else torch.cat(parts, 1) for parts in zip(*pairs, strict=True))
            for name, pairs in found.items()}


def candidate_layers(network: Network) -> tuple[Layer, ...]:
    """Linear layers and plain convolutions with selected parameters that no other module shares."""
    owners: dict[int, int] = {}
    for _, parameter in network.module.named_parameters(remove_duplicate=False):
        owners[id(parameter)] = owners.get(id(parameter), 0) + 1
    found = []
    for name, module in network.module.named_modules():
        if _kind(module) is None:
            continue
        names = [full if parameter is not None and owners[id(parameter)] == 1 and full in network.names else None
                 for full, parameter in ((f"{name}.{part}".lstrip("."), module._parameters.get(part))
                                         for part in ("weight", "bias"))]
        if any(names):
            found.append(Layer(name, *names))
    return tuple(found)


def _kind(module: nn.Module) -> type | None:
    plain = (not isinstance(module, nn.Conv2d)
             or (module.groups == 1 and module.padding_mode == "zeros" and not isinstance(module.padding, str)))
    return next((kind for kind in KINDS if isinstance(module, kind) and plain), None)


def _linear(_module: nn.Linear, inputs: Tensor, outputs: Tensor, b: int) -> tuple[Tensor, Tensor]:
    return inputs.reshape(b, -1, inputs.shape[-1]), outputs.reshape(b, -1, outputs.shape[-1])


def _convolution(module: nn.Conv2d, inputs: Tensor, outputs: Tensor, b: int) -> tuple[Tensor, Tensor]:
    patches = unfold(inputs, module.kernel_size, module.dilation, module.padding, module.stride)
    a, g = patches.mT, outputs.flatten(2).mT
    return a.reshape(b, -1, a.shape[-1]), g.reshape(b, -1, g.shape[-1])


KINDS = {nn.Linear: _linear, nn.Conv2d: _convolution}
