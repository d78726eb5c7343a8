r"""The inputs of linear and convolution layers, and the loss's derivatives at their outputs, example by example.

A layer's output at position t is W ā_t, with W (out, in) its weight, as a matrix, and bias, and ā_t its input there
(for a convolution the patch under the kernel) with a 1 appended where the bias counts. The gradient of one example
is then Σ_t g_t ā_tᵀ, with g_t (out,) the derivative at the output. A linear layer on vectors has one position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, unfold

from engine.curvature.model import CurvedModule
from engine.gradients.taps import output_gradients, recorded


@dataclass(frozen=True)
class CurvatureLayer:
    """A module whose weight counts, with the parameter names of weight and, where it counts too, bias."""

    module: nn.Linear | nn.Conv2d
    weight: str
    bias: str | None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.weight,) if self.bias is None else (self.weight, self.bias)

    @property
    def outputs(self) -> int:
        return self.module.weight.shape[0]

    @property
    def inputs(self) -> int:
        """The length of ā."""
        return self.module.weight[0].numel() + (self.bias is not None)

    def to_matrix(self, values: dict[str, Tensor]) -> Tensor:
        """One tensor (b, …) a parameter -> (b, out, in)."""
        weight = values[self.weight].flatten(2)
        return weight if self.bias is None else torch.cat([weight, values[self.bias][..., None]], 2)

    def from_matrix(self, matrix: Tensor) -> dict[str, Tensor]:
        """(b, out, in) -> one tensor (b, …) a parameter."""
        if self.bias is None:
            return {self.weight: matrix.reshape(len(matrix), *self.module.weight.shape)}
        weight = matrix[..., :-1].reshape(len(matrix), *self.module.weight.shape)
        return {self.weight: weight, self.bias: matrix[..., -1]}

    def positions(self, x: Tensor) -> Tensor:
        """What the module was given -> ā (b, t, in)."""
        rows = _patches(self.module, x) if isinstance(self.module, nn.Conv2d) else x.flatten(1, -2) \
            if x.ndim > 2 else x[:, None]
        return rows if self.bias is None else torch.cat([rows, rows.new_ones(*rows.shape[:2], 1)], 2)

    def derivatives(self, g: Tensor) -> Tensor:
        """The derivative at what the module returned -> (b, t, out)."""
        if isinstance(self.module, nn.Conv2d):
            return g.flatten(2).transpose(1, 2)
        return g.flatten(1, -2) if g.ndim > 2 else g[:, None]


def _patches(conv: nn.Conv2d, x: Tensor) -> Tensor:
    """The patches under the kernel, (b, t, in_channels · kernel height · width)."""
    if conv.padding == "same":
        spans = [d * (k - 1) for d, k in zip(conv.dilation, conv.kernel_size, strict=True)]
        (top, bottom), (left, right) = [(s // 2, s - s // 2) for s in spans]
    else:
        top, left = (0, 0) if isinstance(conv.padding, str) else conv.padding
        bottom, right = top, left
    mode = "constant" if conv.padding_mode == "zeros" else conv.padding_mode
    padded = pad(x, (left, right, top, bottom), mode=mode)
    return unfold(padded, conv.kernel_size, conv.dilation, 0, conv.stride).transpose(1, 2)


def factored_layers(problem: CurvedModule) -> tuple[CurvatureLayer, ...]:
    """The linear layers and ungrouped 2-D convolutions whose weight counts, in the module's order.

    Left out: weights that two modules share, modules that a forward pass does not call by themselves (inside
    `nn.MultiheadAttention`) or whose first dimension is not the examples, and subclasses, whose forward pass may
    be another.
    """
    network = problem.network
    shared = Counter(id(value) for _, value in network.module.named_parameters(remove_duplicate=False))
    layers = []
    for name, module in network.module.named_modules():
        weight, bias = (f"{name}.{kind}" if name else kind for kind in ("weight", "bias"))
        if type(module) not in (nn.Linear, nn.Conv2d) or weight not in network.shapes:
            continue
        grouped = isinstance(module, nn.Conv2d) and module.groups > 1
        if not grouped and shared[id(module.weight)] == 1:
            layers.append(CurvatureLayer(module, weight, bias if bias in network.shapes else None))
    called = captured(problem, tuple(layers), problem.x[:1].expand(3, *problem.x.shape[1:])).inputs
    return tuple(layer for layer, inputs in zip(layers, called, strict=True) if len(inputs) == 3)


@dataclass(frozen=True)
class Captured:
    """One forward pass: the logits u (b, …), ā (b, t, in) a layer (empty if it was not called; zero at positions that
    only fill an input up), and pull(d (b, …)) -> g (b, t, out) a layer, the derivatives of Σ_b d_bᵀ u(x_b) at the
    layer's output."""

    logits: Tensor
    inputs: tuple[Tensor, ...]
    pull: Callable[[Tensor], list[Tensor]]


def captured(problem: CurvedModule, layers: tuple[CurvatureLayer, ...], x: Tensor) -> Captured:
    """The layers' inputs and derivatives at θ_D for x (b, …); a layer called several times has all the positions."""
    parameters = {name: value.detach().clone().requires_grad_(True)
                  for name, value in problem.network.unflatten(problem.theta).items()}
    logits, calls = recorded([(layer, layer.module) for layer in layers], lambda: problem.link.outputs(x, parameters))
    inputs = [[_present(layer.positions(call.inputs), problem, x) for call in calls if call.key is layer]
              for layer in layers]

    def pull(direction: Tensor) -> list[Tensor]:
        tensors: dict[int, list[Tensor]] = {id(layer): [] for layer in layers}
        for call, gradient in zip(calls, output_gradients(logits, calls, direction, keep=True), strict=True):
            gradient = call.inputs.new_zeros(call.shape) if gradient is None else gradient
            tensors[id(call.key)].append(call.key.derivatives(gradient))
        return [torch.cat(tensors[id(layer)], 1) for layer in layers]

    return Captured(logits.detach(),
                    tuple(torch.cat(each, 1) if each else logits.new_empty(0) for each in inputs), pull)


def _present(inputs: Tensor, problem: CurvedModule, x: Tensor) -> Tensor:
    """ā (b, t, in) with zeros where nothing is."""
    present = problem.link.present(x, inputs.shape[1])
    return inputs if present is None else inputs * present[..., None]
