"""How much memory values hold: the tensors and arrays inside them, each storage counted once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from torch import Tensor

from engine.basics.values import Value

LEAVES = (str, bytes, int, float, complex, bool, type(None), type, ModuleType, Value)


def footprint(*values: object) -> int:
    """Bytes of all tensors and arrays that can be reached from `values`; what they share counts once."""
    return sum(storages(*values).values())


def storages(*values: object) -> dict[int, int]:
    """address -> bytes of every storage that can be reached from `values`.

    Attributes, containers, what functions enclose and the originals of views are followed; classes, modules and a
    `Value`, whose fields are plain data, are not.
    """
    sizes: dict[int, int] = {}
    seen: set[int] = set()
    todo: list[Any] = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, LEAVES) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (Tensor, np.ndarray)):
            address, size = _storage(value)
            sizes[address] = max(size, sizes.get(address, 0))
        else:
            todo.extend(_inside(value))
    return sizes


def _storage(value: Tensor | np.ndarray) -> tuple[int, int]:
    """(address, bytes) of the memory behind a tensor or an array, which may be a view of a part of it."""
    if isinstance(value, Tensor):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    while isinstance(value.base, np.ndarray):
        value = value.base
    return value.__array_interface__["data"][0], value.nbytes


def _inside(value: Any) -> Iterable[Any]:
    """The values that a container, a function or an object holds; a tuple, so that another thread may add to it."""
    if isinstance(value, Mapping):
        return (*tuple(value.values()), *_attributes(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        return (*tuple(value), *_attributes(value))
    if isinstance(value, FunctionType):
        return tuple(cell.cell_contents for cell in value.__closure__ or () if _filled(cell))
    if isinstance(value, MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, partial):
        return (value.func, value.args, value.keywords)
    return _attributes(value)


def _attributes(value: Any) -> tuple[Any, ...]:
    return tuple(value.__dict__.values()) if hasattr(value, "__dict__") else ()


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # a name that is not bound yet
        return False
    return True
