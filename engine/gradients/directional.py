r"""Derivatives along directions of parameter space: ∇ℓ(z_k)ᵀ v and J_q v, without per-example gradients.

    layer by layer    Σ_layers ⟨G, V A + v⟩: one forward and one backward pass to the layers' outputs, shared by all
                      directions, and each layer's own derivative forward along (V, v); where all selected parameters
                      lie in linear layers, convolutions and BatchNorms
    recorded          J_q v from operation to operation of a pass that all directions share, where all have rules
                      (`engine.gradients.changes`): about one and a half forward passes a direction
    forward mode      the Jacobian–vector product of the batched network, about three forward passes a direction
    double backward   J v = ∂_u ⟨Jᵀu, v⟩, where an operator has no forward rule
    per example       products with per-example gradients, where that fails too

Which of them a network takes is found out once, on two examples. Per-example gradients decide where routes disagree, as
they do over a part that the module runs without gradients, which forward mode does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call, jvp

from engine.gradients.attention import plain_attention
from engine.gradients.changes import Recorded
from engine.gradients.chunks import BUDGET, activation_bytes, allocated, fitting, in_chunks, unchecked
from engine.gradients.factors import layer_calls, normalisation_layers, planned
from engine.gradients.findings import computed_once, first_that_works
from engine.gradients.layout import arranged
from engine.gradients.model import Differentiable
from engine.gradients.vectorised import Read, gradients_of
from engine.models.losses import differentiable
from engine.models.network import Network

TOLERANCE = 1e-2
"""Coarse, because a max-pool winner may flip in float32: it finds a derivative that ignores a no_grad block."""


def loss_derivatives(problem: Differentiable, rows: Tensor, direction: Tensor, theta: Tensor | None = None,
                     budget: int = BUDGET, *, check: Callable[[], None] = unchecked) -> Tensor:
    """∇ℓ(z_k; θ)ᵀ v of the training examples `rows` (b,): shape (b,) for v (P,), (r, b) for directions (r, P).

    Arguments as for `loss_gradients`.
    """
    directions = direction.reshape(-1, problem.parameters)
    values = derivatives_of(problem.network, *problem.units(rows), differentiable(problem.loss), directions, theta,
                            budget, check=check)
    return values[0] if direction.ndim == 1 else values


def logit_derivatives(problem: Differentiable, x: Tensor, directions: Tensor, theta: Tensor | None = None,
                      budget: int = BUDGET) -> Tensor:
    """J_x v_k of inputs x (m, …) for directions (b, P): the first-order change of the logits, (m, b, C)."""
    targets = torch.zeros(len(x), device=x.device)
    values = derivatives_of(problem.network, x, targets, logits_alone, directions, theta, budget, ROUTES[1:])
    return values.transpose(0, 1)


def logits_alone(logits: Tensor, _targets: Tensor) -> Tensor:
    """f itself, (b, C)."""
    return logits


def derivatives_of(network: Network, x: Tensor, targets: Tensor, read: Read, directions: Tensor,
                   theta: Tensor | None = None, budget: int = BUDGET, routes: Sequence[Callable] | None = None, *,
                   check: Callable[[], None] = unchecked) -> Tensor:
    """The derivative of read(f_θ(x), targets) (b, …) along directions (r, P): shape (r, b, …)."""
    parameters = network.unflatten((network.theta if theta is None else theta).detach())
    tangents = [network.unflatten(direction.to(network.theta)) for direction in directions]
    x = arranged(network, x)
    route = computed_once(network, ("derivative", read), lambda: _route(
        routes or ROUTES, network, parameters, x[:2], targets[:2], read))
    shape = read(network.predict(x[:1]), targets[:1]).shape[1:]
    out = allocated("derivatives", len(tangents), len(x), *shape, like=network.theta)

    def run(rows: slice) -> None:
        for row, values in enumerate(route(network, parameters, x[rows], targets[rows], read, tangents)):
            out[row, rows] = values
            check()

    in_chunks(run, len(x), fitting(6 * activation_bytes(network, x), budget, out.device), check)
    return out


def _route(routes: Sequence[Callable], network: Network, parameters: dict, x: Tensor, targets: Tensor,
           read: Read) -> Callable:
    """The first route that works, and agrees with per-example gradients on two examples."""
    (expected,) = per_example(network, parameters, x, targets, read, [parameters])

    def attempt(route: Callable) -> None:
        (value,) = route(network, parameters, x, targets, read, [parameters])
        if (value - expected).norm() > TOLERANCE * expected.norm():
            raise ArithmeticError("the route disagrees with per-example gradients")

    return first_that_works(routes, attempt)


def layer_by_layer(network: Network, parameters: dict, x: Tensor, targets: Tensor, read: Read,
                   tangents: list) -> Iterator[Tensor]:
    """One (b,) a direction. Raises `LookupError` where a selected parameter lies in no layer that is relied on."""
    plan = planned(network, x)
    further = normalisation_layers(network, plan.written)
    if lost := set(plan.written).difference(*(layer.names for layer in further)):
        raise LookupError(f"{min(lost)} lies in no layer whose derivative is known")
    calls = layer_calls(network, (*plan.layers, *further), parameters, x, targets, read)
    slopes = [call.slope(len(x)) for call in calls]
    for tangent in tangents:
        yield sum((slope(tangent) for slope in slopes), start=network.theta.new_zeros(len(x)))


def recorded(network: Network, parameters: dict, x: Tensor, targets: Tensor, read: Read,
             tangents: list) -> Iterator[Tensor]:
    """One (b, …) a direction. Raises `LookupError` where an operation of the network, or of `read`, has no rule."""
    with torch.no_grad(), Recorded() as passed:
        value = read(functional_call(network.module, parameters, (x,)), targets)
    for tangent in tangents:
        yield passed.along([(parameters[name], own) for name, own in tangent.items()], value)


def forward_mode(network: Network, parameters: dict, x: Tensor, targets: Tensor, read: Read,
                 tangents: list) -> Iterator[Tensor]:
    """One (b, …) a direction, by forward-mode differentiation."""
    def value(moved: dict) -> Tensor:
        return read(functional_call(network.module, moved, (x,)), targets)

    for tangent in tangents:
        with torch.no_grad(), plain_attention():
            derivative = jvp(value, (parameters,), (tangent,))[1]
        yield derivative


def double_backward(network: Network, parameters: dict, x: Tensor, targets: Tensor, read: Read,
                    tangents: list) -> Iterator[Tensor]:
    """One (b, …) a direction: Jᵀu is linear in u, and ⟨Jᵀu, v⟩ differentiated with respect to u is J v."""
    leaves = {name: value.detach().clone().requires_grad_() for name, value in parameters.items()}
    with torch.enable_grad(), plain_attention():
        value = read(functional_call(network.module, leaves, (x,)), targets)
        weights = torch.zeros_like(value, requires_grad=True)
        pulled = torch.autograd.grad(value, list(leaves.values()), weights, create_graph=True, allow_unused=True,
                                     materialize_grads=True)
    for tangent in tangents:
        with torch.enable_grad():
            inner = sum((own * tangent[name]).sum() for name, own in zip(leaves, pulled, strict=True))
        yield torch.autograd.grad(inner, weights, retain_graph=True, materialize_grads=True)[0]


@dataclass(frozen=True)
class OutputIndex:
    """One number of what is read: the one at an index of those that an example has."""

    read: Read
    index: int

    def __call__(self, logits: Tensor, targets: Tensor) -> Tensor:
        return self.read(logits, targets).reshape(len(logits), -1)[:, self.index]


def per_example(network: Network, parameters: dict, x: Tensor, targets: Tensor, read: Read,
                tangents: list) -> Iterator[Tensor]:
    """One (b, …) a direction, by inner products with the per-example gradient of each output."""
    theta, directions = network.flatten(parameters), torch.stack([network.flatten(tangent) for tangent in tangents])
    shape = read(network.predict(x), targets).shape
    outputs = [gradients_of(network, x, targets, OutputIndex(read, column), theta) @ directions.T
               for column in range(shape[1:].numel())]
    yield from torch.stack(outputs, -1).transpose(0, 1).reshape(len(tangents), *shape)


ROUTES = (layer_by_layer, recorded, forward_mode, double_backward, per_example)
