r"""Finite changes of a network's outputs, δf = f(θ + d) − f(θ), carried from operation to operation.

Every value a comes with its change δa, as in forward-mode differentiation, but the change is finite and exact:

    affine          δ(W a + b) = W δa + δW (a + δa) + δb
    ReLU            max(δa, −a) where a > 0, else max(a + δa, 0)
    max-pooling     δa[i'] + (a[i'] − a[i]), i and i' the places of the maximum before and after
    tanh            tanh(δa) (1 − tanh(a) tanh(a + δa))
    sigmoid         σ(a + δa) σ(−a) (1 − e^(−δa))
    sums, shapes    as they are

However small d is, the digits of δf are those of its own arithmetic, and an activation that changes its piece on the
way is followed exactly. The outputs are never subtracted. An operation without a rule ends it with a `LookupError`; so
do batch statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from engine.gradients.chunks import BUDGET, activation_bytes, fitting, in_chunks
from engine.gradients.findings import found_once
from engine.gradients.layout import arranged
from engine.models.network import Network

Change = Tensor | None
"""δa of a value; None where it does not change."""
Changes = Callable[[object], Change]
Answer = tuple[Tensor, Change]
"""The result of an operation, and its change."""
TRIED = 1e-2
"""The displacement, as a share of θ, at which a network's rules are held against a subtraction."""
COPIES = 6
"""Values, their changes, and what a convolution needs beside, of one activation."""
_RULES: dict[Any, Callable[..., Answer]] = {}


def carried(network: Network, theta: Tensor, displacement: Tensor, x: Tensor) -> Tensor:
    """f(x; θ + d) − f(x; θ) (b, C) for inputs x (b, …), θ and d (P,).

    Raises `LookupError` for a network with an operation that has no rule.
    """
    x = arranged(network, x)
    found: list[Tensor] = []

    def run(rows: slice) -> None:
        found.append(_through(network, theta, displacement, x[rows]))

    in_chunks(run, len(x), fitting(COPIES * activation_bytes(network, x), BUDGET, x.device))
    return torch.cat(found)


def is_carried(network: Network, theta: Tensor, x: Tensor) -> bool:
    """Whether changes of this network can be carried: its operations have rules, and these agree with a subtraction on
    two inputs of x (b, …)."""
    return found_once(network, "carried", lambda: _agrees(network, theta, x[:2]))


def _agrees(network: Network, theta: Tensor, x: Tensor) -> bool:
    signs = torch.randint(2, theta.shape, generator=torch.Generator().manual_seed(0)).to(theta)
    displacement = TRIED * (2.0 * signs - 1.0) * theta
    try:
        found = carried(network, theta, displacement, x)
    except (LookupError, RuntimeError):
        return False
    with torch.no_grad():
        after, before = (functional_call(network.module, network.unflatten(at), (x,)) for at in
                         (theta + displacement, theta))
    tolerance = torch.finfo(theta.dtype).eps ** 0.5
    return bool((found - (after - before)).abs().max() <= tolerance * (before.abs().max() + after.abs().max()))


def _through(network: Network, theta: Tensor, displacement: Tensor, x: Tensor) -> Tensor:
    values, moves = network.unflatten(theta), network.unflatten(displacement)
    with torch.no_grad(), _Carrying((values[name], moves[name]) for name in values) as carrying:
        outputs = functional_call(network.module, values, (x,))
    change = carrying.change_of(outputs)
    return torch.zeros_like(outputs) if change is None else change


class _Carrying(TorchFunctionMode):
    """Every operation on a value that changes is answered by its rule, which also says how the result changes."""

    def __init__(self, moved: Iterable[tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        self._changes: dict[int, tuple[Tensor, Tensor]] = {id(value): (value, change) for value, change in moved}

    def change_of(self, value: object) -> Change:
        """δa of a value; None for one that does not change, and for what is no tensor."""
        kept = self._changes.get(id(value))
        return None if kept is None else kept[1]

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _SHAPES or all(self.change_of(one) is None for one in (*args, *kwargs.values())):
            return func(*args, **kwargs)
        rule = _RULES.get(func)
        if rule is None:
            raise LookupError(f"no rule for the change of {func}")
        value, change = rule(self.change_of, *args, **kwargs)
        if change is not None:
            self._changes[id(value)] = value, change
        return value


_TENSOR: Any = Tensor  # a property's getter is unknown to type checkers
_SHAPES = frozenset({_TENSOR.shape.__get__, _TENSOR.ndim.__get__, _TENSOR.dtype.__get__, _TENSOR.device.__get__,
                     Tensor.size, Tensor.dim, Tensor.numel, Tensor.__len__, Tensor.is_contiguous})


def _rule(*functions: Any) -> Callable[[Callable], Callable]:
    """Register a rule (changes, *args, **kwargs) -> (value, its change) for some functions of torch."""

    def register(rule: Callable) -> Callable:
        _RULES.update(dict.fromkeys(functions, rule))
        return rule

    return register


def _sum(*parts: Change) -> Change:
    """The sum of the changes that there are."""
    there = [part for part in parts if part is not None]
    return sum(there[1:], start=there[0]) if there else None


def _moved(value: Tensor, change: Change) -> Tensor:
    return value if change is None else value + change


def _there(change: Change) -> Tensor:
    """The change of the value that an operation is about. Raises `LookupError` where another argument changes alone."""
    if change is None:
        raise LookupError("the change of an argument other than the first has no rule")
    return change


def _affine(apply: Callable[[Tensor, Tensor, Change], Tensor], changes: Changes, a: Tensor, weight: Tensor,
            bias: Change) -> Answer:
    """apply(a, W, b) = W a + b; the change of b is spread over the outputs by `apply` with W δW."""
    own, slope, offset = changes(a), changes(weight), changes(bias)
    parts = [None if own is None else apply(own, weight, None)]
    if slope is not None:
        parts.append(apply(_moved(a, own), slope, offset))
    elif offset is not None:
        parts.append(apply(torch.zeros_like(a), weight, offset))
    return apply(a, weight, bias), _sum(*parts)


@_rule(F.linear)
def _linear(changes: Changes, a: Tensor, weight: Tensor, bias: Change = None) -> Answer:
    return _affine(F.linear, changes, a, weight, bias)


@_rule(F.conv1d, F.conv2d)
def _convolution(changes: Changes, a: Tensor, weight: Tensor, bias: Change = None, *geometry: Any,
                 **named: Any) -> Answer:
    function = F.conv2d if weight.ndim == 4 else F.conv1d
    return _affine(lambda x, w, b: function(x, w, b, *geometry, **named), changes, a, weight, bias)


@_rule(F.batch_norm)
def _batch_norm(changes: Changes, a: Tensor, mean: Change, variance: Change, weight: Change = None,
                bias: Change = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Answer:
    if training or mean is None or variance is None:
        raise LookupError("statistics of a batch have no rule")
    shape = (1, -1, *(1,) * (a.ndim - 2))
    inverse = (variance + eps).rsqrt().view(shape)
    own, slope, offset = changes(a), changes(weight), changes(bias)
    scale = inverse if weight is None else inverse * weight.view(shape)
    value = F.batch_norm(a, mean, variance, weight, bias, False, momentum, eps)
    return value, _sum(None if own is None else scale * own,
                       None if slope is None else inverse * slope.view(shape) * (_moved(a, own) - mean.view(shape)),
                       None if offset is None else offset.view(shape).expand_as(a))


@_rule(F.relu, torch.relu, Tensor.relu, torch.relu_, Tensor.relu_)
def _relu(changes: Changes, a: Tensor, inplace: bool = False) -> Answer:
    own = _there(changes(a))
    return torch.relu(a), torch.where(a > 0, torch.maximum(own, -a), (a + own).clamp_min(0))


@_rule(torch.tanh, Tensor.tanh, F.tanh)
def _tanh(changes: Changes, a: Tensor) -> Answer:
    before, own = torch.tanh(a), _there(changes(a))
    return before, torch.tanh(own) * (1 - before * torch.tanh(a + own))


@_rule(torch.sigmoid, Tensor.sigmoid, F.sigmoid)
def _sigmoid(changes: Changes, a: Tensor) -> Answer:
    return torch.sigmoid(a), _risen(a, _there(changes(a)))


@_rule(F.silu)
def _silu(changes: Changes, a: Tensor, inplace: bool = False) -> Answer:
    own = _there(changes(a))
    return F.silu(a), own * torch.sigmoid(a + own) + a * _risen(a, own)


def _risen(a: Tensor, change: Tensor) -> Tensor:
    """σ(a + δ) − σ(a)."""
    return torch.where(change > 0, -torch.sigmoid(a + change) * torch.sigmoid(-a) * torch.expm1(-change),
                       torch.sigmoid(a) * torch.sigmoid(-a - change) * torch.expm1(change))


@_rule(F.max_pool2d, torch.max_pool2d)
def _max_pool(changes: Changes, a: Tensor, *geometry: Any, **named: Any) -> Answer:
    if named.pop("return_indices", False):
        raise LookupError("the places of maxima have no change")
    own = _there(changes(a))
    (value, before), (_, after) = (F.max_pool2d_with_indices(one, *geometry, **named) for one in (a, a + own))
    here = _at(a, after)
    return value, _at(own, after) + torch.where(before == after, 0, here - value)


def _at(a: Tensor, places: Tensor) -> Tensor:
    """a (b, c, h, w) at flat places (b, c, h', w') of its last two axes."""
    return a.flatten(2).gather(2, places.flatten(2)).view_as(places)


@_rule(Tensor.add, Tensor.__add__, Tensor.__radd__, Tensor.add_, Tensor.__iadd__, torch.add)
def _add(changes: Changes, a: Tensor, b: Tensor, alpha: float = 1) -> Answer:
    first, second = changes(a), changes(b)
    value = torch.add(a, b, alpha=alpha)
    change = _sum(first, None if second is None else alpha * second)
    return value, None if change is None else change.expand_as(value)


def _as_they_are(function: Callable) -> None:
    """Register an operation that is linear in its first argument and has no other that changes."""

    @_rule(function)
    def _linear_map(changes: Changes, a: Tensor, *args: Any, **kwargs: Any) -> Answer:
        return function(a, *args, **kwargs), function(_there(changes(a)), *args, **kwargs)


for _function in (torch.flatten, Tensor.flatten, Tensor.reshape, torch.reshape, Tensor.view, Tensor.unflatten,
                  Tensor.squeeze, Tensor.unsqueeze, Tensor.contiguous, Tensor.mean, torch.mean, Tensor.transpose,
                  Tensor.permute, F.avg_pool2d, F.adaptive_avg_pool2d, F.pad):
    _as_they_are(_function)


@_rule(F.dropout, F.dropout1d, F.dropout2d)
def _dropout(changes: Changes, a: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Answer:
    if training and p:
        raise LookupError("a mask of dropout has no rule")
    return a.clone(), changes(a)
