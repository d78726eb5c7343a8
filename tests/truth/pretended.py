"""A device that is pretended: tensors in the processor's memory that say that they are on CUDA.

What takes tensors of both devices raises, as on a GPU, but for copies and for what indexes. Numbers are those of the
processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map

SAID, HELD = torch.device("cuda:0"), torch.device("meta")
"""What a tensor says of its device, and what torch is told, which would look for a GPU otherwise."""
BETWEEN = ("aten::copy_", "aten::_to_copy", "aten::index", "aten::index_put", "aten::index_put_",
           "aten::_index_put_impl_", "aten::_unsafe_index")
"""The operations that take tensors of both devices."""


class Away(Tensor):
    """A tensor on the pretended device. inner: the one that has its numbers."""

    inner: Tensor
    device = property(lambda self: SAID)
    is_cuda, is_meta = property(lambda self: True), property(lambda self: False)

    @staticmethod
    def __new__(cls, inner: Tensor) -> Away:
        return Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), dtype=inner.dtype,
                                             storage_offset=inner.storage_offset(), layout=inner.layout, device=HELD)

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return f"Away({self.inner!r})"

    def __getitem__(self, rows: Any) -> Tensor:
        return super().__getitem__(tree_map(_tensor, rows, is_leaf=lambda part: isinstance(part, list)))

    def numpy(self, **_options: Any) -> Any:
        raise TypeError("can't convert a tensor of another device to numpy")

    __array__ = numpy

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def new_tensor(self, data: Any, dtype: torch.dtype | None = None, **_options: Any) -> Tensor:
        return torch.tensor(data, dtype=dtype or self.dtype).to(HELD)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _run(func, args, kwargs or {})


def _tensor(rows: Any) -> Any:
    return torch.tensor(rows) if isinstance(rows, list) else rows


def _inner(part: Any) -> Any:
    return part.inner if isinstance(part, Away) else part


def _away(part: Any) -> Any:
    return Away(part) if isinstance(part, Tensor) and not isinstance(part, Away) else part


def _run(func: Any, args: tuple, kwargs: dict) -> Any:
    """The operation on the tensors' numbers, and its outcome where torch would have it."""
    tensors = [part for part in tree_leaves((args, kwargs)) if isinstance(part, Tensor)]
    away, name = any(isinstance(part, Away) for part in tensors), func._schema.name
    if away and name not in BETWEEN and any(part.dim() and not isinstance(part, Away) for part in tensors):
        raise RuntimeError(f"Expected all tensors to be on the same device, but {name} takes some of another")
    asked = kwargs.get("device")
    options = kwargs | ({"device": torch.device("cpu")} if asked is not None and torch.device(asked) == HELD else {})
    found = func(*tree_map(_inner, args), **tree_map(_inner, options))
    if asked is not None and torch.device(asked) != HELD or asked is None and not away:
        return found
    if name == "aten::copy_" and not isinstance(args[0], Away):
        return args[0]
    found = tree_map(_away, found)
    return return_and_correct_aliasing(func, args, kwargs, found) if away else found


class _Dispatched(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _run(func, args, kwargs or {})


class _Asked(TorchFunctionMode):
    """Whoever asks for CUDA is given the pretended device."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        args, kwargs = tuple(map(_held, args)), {name: _held(part) for name, part in (kwargs or {}).items()}
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") == HELD:
            return func(*args, **{name: part for name, part in kwargs.items() if name != "device"}).to(HELD)
        return func(*args, **kwargs)


def _held(part: Any) -> Any:
    return HELD if isinstance(part, (torch.device, str)) and str(part).startswith("cuda") else part


CUDA = {"is_available": lambda: True, "current_device": lambda: 0, "device_count": lambda: 1,
        "mem_get_info": lambda *_: (1 << 36, 1 << 36), "manual_seed": torch.default_generator.manual_seed,
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "set_rng_state": lambda state, *_: torch.set_rng_state(state),
        "device": lambda *_: nullcontext(), "empty_cache": lambda: None, "get_device_name": lambda *_: "pretended"}


@contextmanager
def pretended() -> Iterator[None]:
    """Within it there is a CUDA device."""
    fork, overwrites = torch.random.fork_rng, torch.__future__.get_overwrite_module_params_on_conversion()
    with ExitStack() as stack:
        for name, own in CUDA.items():
            stack.enter_context(patch.object(torch.cuda, name, own))
        stack.enter_context(patch.object(torch.random, "fork_rng", lambda devices=None, **options: fork([])))
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, overwrites)
        stack.enter_context(_Asked())
        stack.enter_context(_Dispatched())
        yield
