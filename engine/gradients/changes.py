r"""How a network's outputs change with its parameters, carried from operation to operation.

Every value a of a pass is recorded, and a change δa goes through the same operations, to first order or in full:

                    along a direction           by a finite displacement
    affine          W δa + δW a + δb            W δa + δW (a + δa) + δb
    ReLU            δa where a > 0              max(δa, −a) where a > 0, else max(a + δa, 0)
    max-pooling     δa[i]                       δa[i'] + (a[i'] − a[i]), i, i' the places of the maximum before, after
    tanh            δa (1 − tanh²a)             tanh(δa) (1 − tanh(a) tanh(a + δa))
    sigmoid         δa σ(a) σ(−a)               σ(a + δa) σ(−a) (1 − e^(−δa))
    sums, shapes    as they are                 as they are

The first is J v without building J or a second graph: where a derivative by `jvp` computes every value anew, a pass is
recorded once for all directions. The second is f(θ + d) − f(θ) without subtracting outputs: however small d is, its
digits are those of its own arithmetic, and an activation that changes its piece on the way is followed exactly.

An operation without a rule ends either with a `LookupError`; so do batch statistics and masks of dropout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from engine.gradients.chunks import BUDGET, activation_bytes, fitting, in_chunks
from engine.gradients.findings import computed_once
from engine.gradients.layout import arranged
from engine.models.network import Network

Change = Tensor | None
"""δa of a value; None where it does not change."""
Changes = Callable[[object], Change]
COPIES = 6
"""Values, their changes, and what a convolution needs beside, of one activation."""
TRIED = 1e-2
"""The displacement, as a fraction of θ, at which a network's rules are held against a subtraction."""
_TENSOR: Any = Tensor  # a property's getter is unknown to type checkers
_SHAPES = frozenset({_TENSOR.shape.__get__, _TENSOR.ndim.__get__, _TENSOR.dtype.__get__, _TENSOR.device.__get__,
                     Tensor.size, Tensor.dim, Tensor.numel, Tensor.__len__, Tensor.is_contiguous})


@dataclass(frozen=True, eq=False)
class OperationCall:
    """An operation as it was called, and its result. aside: what its rules need besides."""

    rule: ChangeRule | None
    function: Callable
    args: tuple
    named: Mapping[str, Any]
    value: Tensor
    aside: Any = None


@dataclass(frozen=True)
class ChangeRule:
    """value: (*args, **named) -> (result, what the rules need besides), nothing in place. along, by: (changes, call)
    -> the change of the result, to first order and in full."""

    value: Callable[..., tuple[Tensor, Any]]
    along: Callable[[Changes, OperationCall], Change]
    by: Callable[[Changes, OperationCall], Change]


class Recorded(TorchFunctionMode):
    """The operations of the passes that are made within, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[OperationCall] = []

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        named, rule = dict(kwargs or {}), _RULES.get(func)
        if rule is None:
            value, aside = func(*args, **named), None
        else:
            value, aside = rule.value(*args, **named)
        if isinstance(value, Tensor) and func not in _SHAPES:
            self.calls.append(OperationCall(rule, func, args, named, value, aside))
        return value

    def along(self, moved: Sequence[tuple[Tensor, Tensor]], outputs: Tensor) -> Tensor:
        """The derivative of `outputs`, one of the values, along changes of others: (value, its change)."""
        return self._carried(moved, outputs, lambda rule: rule.along)

    def by(self, moved: Sequence[tuple[Tensor, Tensor]], outputs: Tensor) -> Tensor:
        """The finite change of `outputs` by changes of others."""
        return self._carried(moved, outputs, lambda rule: rule.by)

    def _carried(self, moved: Sequence[tuple[Tensor, Tensor]], outputs: Tensor,
                 method: Callable[[ChangeRule], Callable[[Changes, OperationCall], Change]]) -> Tensor:
        known: dict[int, Tensor] = {id(value): change for value, change in moved}

        def changes(value: object) -> Change:
            return known.get(id(value))

        with torch.no_grad():
            for call in self.calls:
                if not _touched(changes, (*call.args, *call.named.values())):
                    continue
                if call.rule is None:
                    raise LookupError(f"no rule for the change of {call.function}")
                change = method(call.rule)(changes, call)
                if change is not None:
                    known[id(call.value)] = change
        result = changes(outputs)
        return torch.zeros_like(outputs) if result is None else result


def _touched(changes: Changes, arguments: Sequence[Any]) -> bool:
    """Whether one of an operation's arguments changes, or one in a list of them."""
    return any(_touched(changes, one) if isinstance(one, list | tuple) else changes(one) is not None
               for one in arguments)


def has_rules(network: Network, theta: Tensor, x: Tensor) -> bool:
    """Whether changes go through this network: its operations have rules, and outputs and changes agree with passes
    that are not recorded on two inputs of x (b, …)."""
    return computed_once(network, "changes", lambda: _agrees(network, theta, x[:2]))


def _agrees(network: Network, theta: Tensor, x: Tensor) -> bool:
    signs = torch.randint(2, theta.shape, generator=torch.Generator().manual_seed(0)).to(theta)
    displacement = TRIED * (2.0 * signs - 1.0) * theta
    try:
        with torch.no_grad(), Recorded():
            recorded = network.at(x, network.unflatten(theta))  # what is done in place may be lost
        result = changed(network, theta, displacement, x)
    except Exception:  # noqa: BLE001 - whatever a rule says of a call that it does not know
        return False
    with torch.no_grad():
        after, before = (network.at(x, network.unflatten(at)) for at in (theta + displacement, theta))
    tolerance = torch.finfo(theta.dtype).eps ** 0.5 * (before.abs().max() + after.abs().max())
    return all(bool(off.abs().max() <= tolerance) for off in (result - (after - before), recorded - before))


def changed(network: Network, theta: Tensor, displacement: Tensor, x: Tensor) -> Tensor:
    """f(x; θ + d) − f(x; θ) (b, C) for inputs x (b, …), θ and d (P,).

    Raises `LookupError` for a network with an operation that has no rule.
    """
    values, moves = network.unflatten(theta), network.unflatten(displacement)
    moved = [(values[name], moves[name]) for name in values]
    results: list[Tensor] = []

    def run(rows: slice) -> None:
        with torch.no_grad(), Recorded() as recorded:
            outputs = network.at(x[rows], values)
        results.append(recorded.by(moved, outputs))

    x = arranged(network, x)
    in_chunks(run, len(x), fitting(COPIES * activation_bytes(network, x), BUDGET, x.device))
    return torch.cat(results)


_RULES: dict[Any, ChangeRule] = {}


def _register(rule: ChangeRule, *functions: Any) -> None:
    """The rule of some functions of torch."""
    _RULES.update(dict.fromkeys(functions, rule))


def _pure(function: Callable[..., Tensor]) -> Callable[..., tuple[Tensor, None]]:
    return lambda *args, **named: (function(*args, **named), None)


def _first(changes: Changes, call: OperationCall) -> Tensor:
    """The change of the value that an operation is about. Raises `LookupError` where another argument changes alone."""
    change = changes(call.args[0]) if call.args else None
    if change is None:
        raise LookupError(f"no rule for a change of another argument of {call.function}")
    return change


def _sum(*changes_of: Change) -> Change:
    """The sum of the changes that there are."""
    there = [one for one in changes_of if one is not None]
    return sum(there[1:], start=there[0]) if there else None


def _moved(value: Tensor, change: Change) -> Tensor:
    return value if change is None else value + change


# affine maps: W a + b


def _linear_of(call: OperationCall) -> tuple[Callable[..., Tensor], Tensor, Tensor, Change]:
    def read(a: Tensor, weight: Tensor, bias: Change = None) -> tuple:
        return F.linear, a, weight, bias

    return read(*call.args, **call.named)


def _convolution_of(call: OperationCall) -> tuple[Callable[..., Tensor], Tensor, Tensor, Change]:
    def read(a: Tensor, weight: Tensor, bias: Change = None, *geometry: Any, **named: Any) -> tuple:
        function = F.conv2d if weight.ndim == 4 else F.conv1d
        return lambda x, w, b: function(x, w, b, *geometry, **named), a, weight, bias

    return read(*call.args, **call.named)


def _affine(split: Callable[[OperationCall], tuple[Callable[..., Tensor], Tensor, Tensor, Change]], finite: bool
            ) -> Callable[[Changes, OperationCall], Change]:
    def change(changes: Changes, call: OperationCall) -> Change:
        apply, a, weight, bias = split(call)
        own, slope, offset = changes(a), changes(weight), changes(bias)
        linear = None if own is None else apply(own, weight, None)
        if slope is not None:
            return _sum(linear, apply(_moved(a, own) if finite else a, slope, offset))
        return linear if offset is None else _sum(linear, apply(torch.zeros_like(a), weight, offset))

    return change


_register(ChangeRule(_pure(F.linear), _affine(_linear_of, False), _affine(_linear_of, True)), F.linear)
for _convolution in (F.conv1d, F.conv2d):
    _register(ChangeRule(_pure(_convolution), _affine(_convolution_of, False), _affine(_convolution_of, True)),
              _convolution)


# batch normalisation with kept statistics: s (a − μ) + b, s = w / √(v + ε)


def _normalised(a: Tensor, mean: Change, variance: Change, weight: Change = None, bias: Change = None,
                training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> tuple[Tensor, Any]:
    if training or mean is None or variance is None:
        return F.batch_norm(a, mean, variance, weight, bias, training, momentum, eps), None
    shape = (1, -1, *(1,) * (a.ndim - 2))
    inverse = (variance + eps).rsqrt().view(shape)
    return F.batch_norm(a, mean, variance, weight, bias, False, momentum, eps), (a, mean.view(shape), inverse, weight,
                                                                                bias)


def _normalising(finite: bool) -> Callable[[Changes, OperationCall], Change]:
    def change(changes: Changes, call: OperationCall) -> Change:
        if call.aside is None:
            raise LookupError("statistics of a batch have no rule")
        a, mean, inverse, weight, bias = call.aside
        own, slope, offset = changes(a), changes(weight), changes(bias)
        scale = inverse if weight is None else inverse * weight.view(mean.shape)
        return _sum(None if own is None else scale * own,
                    None if slope is None else inverse * slope.view(mean.shape) * (
                        (_moved(a, own) if finite else a) - mean),
                    None if offset is None else offset.view(mean.shape).expand_as(a))

    return change


_register(ChangeRule(_normalised, _normalising(False), _normalising(True)), F.batch_norm)


# activations


def _rectified(changes: Changes, call: OperationCall) -> Tensor:
    a, own = call.args[0], _first(changes, call)
    return torch.where(a > 0, torch.maximum(own, -a), (a + own).clamp_min(0))


_register(ChangeRule(lambda a, inplace=False: (torch.relu(a), None),
                     lambda changes, call: _first(changes, call) * (call.value > 0), _rectified),
          F.relu, torch.relu, Tensor.relu, torch.relu_, Tensor.relu_)


def _tanh(changes: Changes, call: OperationCall) -> Tensor:
    own = _first(changes, call)
    return torch.tanh(own) * (1 - call.value * torch.tanh(call.args[0] + own))


_register(ChangeRule(_pure(torch.tanh), lambda changes, call: _first(changes, call) * (1 - call.value.square()), _tanh),
          torch.tanh, Tensor.tanh, F.tanh)


def _risen(a: Tensor, change: Tensor) -> Tensor:
    """σ(a + δ) − σ(a)."""
    return torch.where(change > 0, -torch.sigmoid(a + change) * torch.sigmoid(-a) * torch.expm1(-change),
                       torch.sigmoid(a) * torch.sigmoid(-a - change) * torch.expm1(change))


def _slope(a: Tensor) -> Tensor:
    """σ'(a)."""
    return torch.sigmoid(a) * torch.sigmoid(-a)


_register(ChangeRule(_pure(torch.sigmoid), lambda changes, call: _first(changes, call) * _slope(call.args[0]),
                     lambda changes, call: _risen(call.args[0], _first(changes, call))),
          torch.sigmoid, Tensor.sigmoid, F.sigmoid)


def _silu_along(changes: Changes, call: OperationCall) -> Tensor:
    a = call.args[0]
    return _first(changes, call) * (torch.sigmoid(a) + a * _slope(a))


def _silu_by(changes: Changes, call: OperationCall) -> Tensor:
    a, own = call.args[0], _first(changes, call)
    return own * torch.sigmoid(a + own) + a * _risen(a, own)


_register(ChangeRule(lambda a, inplace=False: (F.silu(a), None), _silu_along, _silu_by), F.silu)


# max-pooling


def _pooled(*args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    if named.pop("return_indices", False):
        raise LookupError("places of maxima have no change")
    return F.max_pool2d_with_indices(*args, **named)


def _pooled_by(changes: Changes, call: OperationCall) -> Tensor:
    (a, *geometry), own = call.args, _first(changes, call)
    _, after = _pooled(a + own, *geometry, **call.named)
    return _at(own, after) + torch.where(call.aside == after, 0, _at(a, after) - call.value)


def _at(a: Tensor, indices: Tensor) -> Tensor:
    """a (b, c, h, w) at flat places (b, c, h', w') of its last two axes."""
    return a.flatten(2).gather(2, indices.flatten(2)).view_as(indices)


_register(ChangeRule(_pooled, lambda changes, call: _at(_first(changes, call), call.aside), _pooled_by),
          F.max_pool2d, torch.max_pool2d)


# sums, shapes and what else is linear in its first argument


def _added(changes: Changes, call: OperationCall) -> Change:
    def read(a: Tensor, b: Tensor, alpha: float = 1) -> Change:
        second = changes(b)
        return _sum(changes(a), None if second is None else alpha * second)

    result = read(*call.args, **call.named)
    return None if result is None else result.expand_as(call.value)


_register(ChangeRule(_pure(torch.add), _added, _added),
          Tensor.add, Tensor.__add__, Tensor.__radd__, Tensor.add_, Tensor.__iadd__, torch.add)


def _product(finite: bool) -> Callable[[Changes, OperationCall], Change]:
    def change(changes: Changes, call: OperationCall) -> Change:
        a, b = call.args
        first, second = changes(a), changes(b)
        return _sum(None if first is None else first * b,
                    None if second is None else (_moved(a, first) if finite else a) * second)

    return change


_register(ChangeRule(_pure(torch.mul), _product(False), _product(True)),
          Tensor.mul, Tensor.__mul__, Tensor.__rmul__, Tensor.mul_, Tensor.__imul__, torch.mul)


def _joined(changes: Changes, call: OperationCall) -> Tensor:
    def read(tensors: Sequence[Tensor], *position: Any, **named: Any) -> Tensor:
        own = [changes(tensor) for tensor in tensors]
        return torch.cat([torch.zeros_like(tensor) if one is None else one
                          for tensor, one in zip(tensors, own, strict=True)], *position, **named)

    return read(*call.args, **call.named)


_register(ChangeRule(_pure(torch.cat), _joined, _joined), torch.cat)


def _as_it_is(function: Callable[..., Tensor]) -> ChangeRule:
    def change(changes: Changes, call: OperationCall) -> Tensor:
        return function(_first(changes, call), *call.args[1:], **call.named)

    return ChangeRule(_pure(function), change, change)


for _function in (torch.flatten, Tensor.flatten, Tensor.reshape, torch.reshape, Tensor.view, Tensor.unflatten,
                  Tensor.squeeze, Tensor.unsqueeze, Tensor.contiguous, Tensor.mean, torch.mean, Tensor.transpose,
                  Tensor.permute, Tensor.__getitem__, F.avg_pool2d, F.adaptive_avg_pool2d, F.pad):
    _register(_as_it_is(_function), _function)


def _unchanged(a: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> tuple[Tensor, bool]:
    return (F.dropout(a, p), False) if training and p else (a.clone(), True)


def _through_dropout(changes: Changes, call: OperationCall) -> Tensor:
    if not call.aside:
        raise LookupError("a dropout mask has no rule")
    return _first(changes, call)


_register(ChangeRule(_unchanged, _through_dropout, _through_dropout), F.dropout)
