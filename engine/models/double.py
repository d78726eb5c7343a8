"""Modules that lower their own precision, such as the norms of language models, kept in float64 throughout.

`module.double()` turns parameters into float64, but a forward that asks for `x.to(torch.float32)` or
`softmax(…, dtype=torch.float32)` throws half of the digits away on the way, and differences of its outputs are noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

NARROW = frozenset({torch.float32, torch.float16, torch.bfloat16})
CASTS = {Tensor.float: torch.float32, Tensor.half: torch.float16, Tensor.bfloat16: torch.bfloat16}


class _Wide(TorchFunctionMode):
    """Every request for a narrower floating-point type is one for float64.

    calls: the modules that are being called, the innermost last; `asking` are those that made a request.
    """

    def __init__(self, calls: Sequence[nn.Module] = ()) -> None:
        super().__init__()
        self.calls = calls
        self.asking: list[nn.Module] = []

    def __torch_function__(self, func: Callable, types: Sequence[type], args: tuple = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.promote_types:  # which compares types, and asks for none
            return func(*args, **kwargs)
        if func in CASTS:
            self._note()
            return args[0].to(torch.float64)
        if any(_narrow(value) for value in (*args, *kwargs.values())):
            self._note()
            args = tuple(torch.float64 if _narrow(value) else value for value in args)
            kwargs = {key: torch.float64 if _narrow(value) else value for key, value in kwargs.items()}
        return func(*args, **kwargs)

    def _note(self) -> None:
        if self.calls and self.calls[-1] not in self.asking:
            self.asking.append(self.calls[-1])


def _narrow(value: object) -> bool:
    return isinstance(value, torch.dtype) and value in NARROW


class _Widened:
    """A module's own forward, in float64 throughout. A copy of the module has a copy of it."""

    def __init__(self, own: Callable) -> None:
        self.own = own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _Wide():
            return self.own(*args, **kwargs)


def keep_double(module: nn.Module, x: Tensor) -> None:
    """Make a float64 module compute in float64 where it lowers its precision on inputs x (b, …); others stay alone.
    To be called on a module of our own: a copy, or one that was built for a training.

    Only the innermost modules that ask for less are changed: watching every operation of a whole model would cost more
    than the operations of a small one.
    """
    if any(isinstance(part.forward, _Widened) for part in module.modules()):
        return
    for part in _asking(module, x):
        part.forward = _Widened(part.forward)


def _asking(module: nn.Module, x: Tensor) -> list[nn.Module]:
    """The modules whose own forward asks for a narrower type; none where the module does not take x: whoever calls it
    says what does not fit."""
    calls: list[nn.Module] = []
    mode = _Wide(calls)
    hooks = [hook for part in module.modules() for hook in (
        part.register_forward_pre_hook(lambda own, _: calls.append(own)),
        part.register_forward_hook(lambda *_: _left(calls)))]
    try:
        with torch.no_grad(), mode:
            module(x)
    except Exception:  # a forward pass of a user's may raise anything
        return []
    finally:
        for hook in hooks:
            hook.remove()
    return mode.asking


def _left(calls: list[nn.Module]) -> None:
    calls.pop()
