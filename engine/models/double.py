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
    """Every request for a narrower floating-point type is one for float64; `asked` says whether there was one."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = False

    def __torch_function__(self, func: Callable, types: Sequence[type], args: tuple = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in CASTS:
            self.asked = True
            return args[0].to(torch.float64)
        if any(_narrow(value) for value in (*args, *kwargs.values())):
            self.asked = True
            args = tuple(torch.float64 if _narrow(value) else value for value in args)
            kwargs = {key: torch.float64 if _narrow(value) else value for key, value in kwargs.items()}
        return func(*args, **kwargs)


def _narrow(value: object) -> bool:
    return isinstance(value, torch.dtype) and value in NARROW


class _Widened:
    """A module's class with `forward` in float64 throughout; the module keeps its parameters, hooks and name."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with _Wide():
            return super().forward(*args, **kwargs)  # type: ignore[misc]


def keep_double(module: nn.Module, x: Tensor) -> None:
    """Make a float64 module compute in float64 where it lowers its precision on inputs x (b, …); others stay alone."""
    if isinstance(module, _Widened):
        return
    mode = _Wide()
    try:
        with torch.no_grad(), mode:
            module(x)
    except (RuntimeError, ValueError, TypeError, IndexError):
        return  # whoever calls the module says what does not fit
    if mode.asked:
        module.__class__ = type(type(module).__name__, (_Widened, type(module)), {})
