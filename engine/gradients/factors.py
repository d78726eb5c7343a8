r"""The gradients of a batch by layer, from the factors that one forward and one backward pass leave behind.

For a linear layer, and for a convolution on its unfolded input, the gradient of an example is Σ_t G_t A_tᵀ: hooks keep
the inputs A (b, T, i) and the backward pass gives the output gradients G (b, T, o), so that no gradient with respect
to a parameter is computed. A layer that is called several times adds its calls along T. What is not such a layer
(normalisation, embeddings, grouped convolutions, tied weights, parameters that are used functionally) is written out
by `torch.func`.

Before a network's factors are relied on, they are compared on two examples with plain autograd, in float64 where the
module takes that; a layer that does not reproduce its gradients, or has none there, is written out as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import batch_norm, conv2d, linear, pad

from engine.gradients.chunks import activation_bytes
from engine.gradients.findings import computed_once
from engine.gradients.forms import Factors, Form, RowGradients, added, forms_of
from engine.gradients.layout import arranged
from engine.gradients.taps import output_gradients, recorded
from engine.gradients.vectorised import Read, along_signal, gradients_of, one_by_one
from engine.models.network import Network

TOLERANCES = {torch.float64: 1e-8, torch.float32: 1e-4}
Pair = tuple[int, ...]
Tapped = nn.Linear | nn.Conv2d | nn.BatchNorm1d | nn.BatchNorm2d


@dataclass(frozen=True)
class FactoredLayer:
    """A module with the names of its differentiated parameters."""

    name: str
    weight: str | None
    bias: str | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.weight, self.bias) if name)


@dataclass(frozen=True)
class Plan:
    """The layers whose factors are relied on, the parameters that are written out, and the numbers an example takes."""

    layers: tuple[FactoredLayer, ...]
    written: tuple[str, ...]
    numbers: int


def gradient_forms(network: Network, x: Tensor, targets: Tensor, read: Read, theta: Tensor | None = None) -> list[Form]:
    """∇ read(f_θ(x), targets) of every example of a batch, layer by layer, each in its cheapest form."""
    plan = planned(network, x)
    factors = captured(network, plan.layers, arranged(network, x), targets, read, theta) if plan.layers else {}

    def slice_of(name: str | None) -> slice | None:
        return network.slices[name] if name else None

    forms = [form for layer in plan.layers
             for form in forms_of(factors.pop(layer.name), slice_of(layer.weight), slice_of(layer.bias))]
    if plan.written:
        rows = gradients_of(network, x, targets, read, theta, names=plan.written)
        sizes = [network.slices[name].stop - network.slices[name].start for name in plan.written]
        forms += [RowGradients(network.slices[name], values)
                  for name, values in zip(plan.written, rows.split(sizes, 1), strict=True)]
    return forms


def pass_bytes(network: Network, x: Tensor) -> int:
    """Bytes of working memory an example of a forward and backward pass with its factors."""
    return 4 * activation_bytes(network, x) + planned(network, x).numbers * network.theta.element_size()


def planned(network: Network, x: Tensor) -> Plan:
    """What is relied on for inputs like x, from a comparison on two of them that is made once."""
    return computed_once(network, ("plan", tuple(x.shape[1:])), lambda: _planned(network, x[torch.arange(2) % len(x)]))


def _planned(network: Network, x: Tensor) -> Plan:
    layers = candidate_layers(network)
    twin = Network(network.module, network.selection, device=network.device, dtype=torch.float64)
    for own in (twin, network):
        try:
            return _reproduced(own, layers, own.inputs(x))
        except Exception:  # noqa: BLE001, S112 - whatever a module says that does not take float64, or no hooks
            continue
    return Plan((), network.names, 2 * network.size)


def _reproduced(network: Network, layers: Sequence[FactoredLayer], x: Tensor) -> Plan:
    """Which layers' factors give the gradients that plain autograd gives, for a random signal."""
    signal = torch.randn(network.predict(x).shape, generator=torch.Generator().manual_seed(0)).to(network.theta)
    factors = captured(network, layers, x, signal, along_signal)
    expected = one_by_one(network.at, network.unflatten(network.theta), {}, x, signal, along_signal)
    sound = [layer for layer in layers if layer.name in factors
             and _agree(factors[layer.name], [expected.get(name) for name in (layer.weight, layer.bias)])]
    covered = {name for layer in sound for name in layer.names}
    written = tuple(name for name in network.names if name not in covered)
    held = sum(factors[layer.name].numbers for layer in sound) // len(x)
    return Plan(tuple(sound), written, 2 * (held + sum(network.unflatten(network.theta)[name].numel()
                                                       for name in written)))


def _agree(factors: Factors, expected: Sequence[Tensor | None]) -> bool:
    ours = (factors.weight_gradients(), factors.bias_gradients())
    return all(other.norm() > 0 and (own - other.flatten(1)).norm() <= TOLERANCES[own.dtype] * other.norm()
               for own, other in zip(ours, expected, strict=True) if other is not None)


def captured(network: Network, layers: Sequence[FactoredLayer], x: Tensor, targets: Tensor, read: Read,
             theta: Tensor | None = None) -> dict[str, Factors]:
    """The factors of the layers that took part, by name."""
    parameters = network.unflatten(network.theta if theta is None else theta)
    factors: dict[str, list[Factors]] = {}
    for call in layer_calls(network, layers, parameters, x, targets, read):
        factors.setdefault(call.layer.name, []).append(call.factors(len(x)))
    return {name: added(calls) for name, calls in factors.items()}


@dataclass(frozen=True)
class LayerCall:
    """One call of a layer: what went in, and the gradient with respect to what came out."""

    layer: FactoredLayer
    module: Tapped
    inputs: Tensor
    outputs: Tensor

    @property
    def kind(self) -> Kind:
        """Raises `LookupError` for a module that has no factors."""
        if (kind := _kind(self.module)) is None:
            raise LookupError(f"the factors of a {type(self.module).__name__} are not known")
        return kind

    def factors(self, b: int) -> Factors:
        """A and G of b examples."""
        return self.kind.factors(self.module, self.inputs, self.outputs, b)

    def slope(self, b: int) -> Callable[[Mapping[str, Tensor]], Tensor]:
        """The map from a direction, V in the weight and v in the bias, to ⟨G, V A + v⟩ of every example, (b,).

        Where patches and gradients are smaller than the layer's output, as in a first convolution, ⟨G Aᵀ, V⟩ instead.
        """
        if isinstance(self.module, NORMALISATIONS):
            return self._pushed_slope(_normalised, b)
        weight, bias = self.layer.weight, self.layer.bias
        i, o = self.module.weight[0].numel(), len(self.module.weight)
        steps = self.outputs.numel() // (b * o)
        if steps * i + o * i < steps * o:
            factors = self.factors(b)
            written = [(weight, factors.weight_gradients()), (bias, factors.bias_gradients())]
            return lambda tangent: sum((values @ tangent[name].flatten() for name, values in written if name),
                                       start=self.outputs.new_zeros(b))
        return self._pushed_slope(self.kind.pushed, b)

    def _pushed_slope(self, pushed: Callable[..., Tensor], b: int) -> Callable[[Mapping[str, Tensor]], Tensor]:
        weight, bias, gradient = self.layer.weight, self.layer.bias, _rows(self.outputs, b)[:, None]
        unmoved = None if weight else torch.zeros_like(self.module.weight)

        def slope(tangent: Mapping[str, Tensor]) -> Tensor:
            change = pushed(self.module, self.inputs, tangent[weight] if weight else unmoved,
                            tangent[bias] if bias else None)
            return (gradient @ _rows(change, b)[:, :, None])[:, 0, 0]

        return slope


def layer_calls(network: Network, layers: Sequence[FactoredLayer], parameters: Mapping[str, Tensor], x: Tensor,
                targets: Tensor, read: Read) -> list[LayerCall]:
    """The calls of the layers, from one forward pass and one backward pass to their outputs."""
    leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    modules = [(layer, network.module.get_submodule(layer.name)) for layer in layers]
    value, calls = recorded(modules, lambda: read(functional_call(network.module, leaves, (x,)), targets).sum())
    return [LayerCall(call.key, cast(Tapped, call.module), call.inputs, gradient)
            for call, gradient in zip(calls, output_gradients(value, calls), strict=True) if gradient is not None]


def candidate_layers(network: Network) -> tuple[FactoredLayer, ...]:
    """Linear layers and plain convolutions with selected parameters that no other module shares."""
    owners: dict[int, int] = {}
    for _, parameter in network.module.named_parameters(remove_duplicate=False):
        owners[id(parameter)] = owners.get(id(parameter), 0) + 1
    layers = []
    for name, module in network.module.named_modules():
        if _kind(module) is None:
            continue
        names = [full if parameter is not None and owners[id(parameter)] == 1 and full in network.names else None
                 for full, parameter in ((f"{name}.{kind}".lstrip("."), module._parameters.get(kind))
                                         for kind in ("weight", "bias"))]
        if any(names):
            layers.append(FactoredLayer(name, *names))
    return tuple(layers)


def normalisation_layers(network: Network, names: Sequence[str]) -> tuple[FactoredLayer, ...]:
    """The BatchNorms that own some of the parameters `names`: linear in them, with the statistics that are stored."""
    layers = []
    for name, module in network.module.named_modules():
        if isinstance(module, NORMALISATIONS) and module.running_mean is not None:
            own = [full if full in names else None for full in (f"{name}.weight", f"{name}.bias")]
            if any(own):
                layers.append(FactoredLayer(name, *own))
    return tuple(layers)


def _kind(module: nn.Module) -> Kind | None:
    plain = (not isinstance(module, nn.Conv2d)
             or (module.groups == 1 and module.padding_mode == "zeros" and not isinstance(module.padding, str)))
    return next((kind for layer, kind in KINDS.items() if isinstance(module, layer) and plain), None)


def _rows(values: Tensor, b: int) -> Tensor:
    """One row an example, without a copy of images that have their channels last."""
    return (values.permute(0, 2, 3, 1) if values.ndim == 4 else values).reshape(b, -1)


def _linear_factors(_module: nn.Linear, inputs: Tensor, outputs: Tensor, b: int) -> Factors:
    return Factors(inputs.reshape(b, -1, inputs.shape[-1]), outputs.reshape(b, -1, outputs.shape[-1]))


def _convolution_factors(module: nn.Conv2d, inputs: Tensor, outputs: Tensor, b: int) -> Factors:
    (height, width), padding = module.kernel_size, module.padding
    assert not isinstance(padding, str)  # those are written out: see `_kind`
    patches = patches_of(inputs, module.kernel_size, module.stride, padding, module.dilation)
    return Factors(patches.reshape(b, -1, patches.shape[-1]), outputs.flatten(2).mT.reshape(b, -1, outputs.shape[1]),
                   (height, width, module.in_channels))


def patches_of(images: Tensor, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Tensor:
    """The inputs of every output place, (b, H'·W', height·width·channels).

    In this order a patch is copied by runs of its width times the channels: several times as fast as `unfold`, which
    puts the channels first.
    """
    (down, across), padded = padding, images.permute(0, 2, 3, 1)
    padded = pad(padded, (0, 0, across, across, down, down)).contiguous()
    for axis in (0, 1):
        padded = padded.unfold(axis + 1, dilation[axis] * (kernel[axis] - 1) + 1, stride[axis])
    windows = padded[..., ::dilation[0], ::dilation[1]]  # b, H', W', channels, height, width
    return windows.permute(0, 1, 2, 4, 5, 3).reshape(len(images), windows.shape[1] * windows.shape[2], -1)


def _linear_pushed(_module: nn.Linear, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return linear(inputs, weight, bias)


def _convolution_pushed(module: nn.Conv2d, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return conv2d(inputs, weight, bias, module.stride, module.padding, module.dilation)


def _normalised(module: nn.BatchNorm1d | nn.BatchNorm2d, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return batch_norm(inputs, module.running_mean, module.running_var, weight, bias, eps=module.eps)


@dataclass(frozen=True)
class Kind:
    """What is known of a kind of layer.

    factors: (module, inputs, output gradients, b) -> A and G. pushed: (module, inputs, weight, bias)
    -> the layer's output with these in place of its own.
    """

    factors: Callable[..., Factors]
    pushed: Callable[..., Tensor]


KINDS: dict[type[nn.Module], Kind] = {
    nn.Linear: Kind(_linear_factors, _linear_pushed),
    nn.Conv2d: Kind(_convolution_factors, _convolution_pushed)}
NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d)
