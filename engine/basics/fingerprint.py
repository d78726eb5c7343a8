"""What tells two user functions of one name apart: code, defaults, and all that they close over or name outside."""

from __future__ import annotations

import dis
import functools
import hashlib
import importlib
import sys
import sysconfig
import types
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.basics import plugins


def fingerprint(thing: object) -> str:
    """16 hexadecimal digits, the same in every process of one Python version; no address enters.

    A function counts with its closure and with the values of the globals that its code names, functions among them
    likewise. Of an installed library and of Python itself the name counts, not the code; of a plugin the code does.
    """
    digest = hashlib.sha256()
    for part in _parts(thing, {}):
        digest.update(part)
        digest.update(b"\x00")
    return digest.hexdigest()[:16]


def _parts(thing: object, seen: dict[int, object]) -> Iterator[bytes]:
    """seen: what was met, by address; it is held, so that no address is given out again."""
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes)):
        yield f"{type(thing).__name__}:{thing!r}".encode()
        return
    if id(thing) in seen:
        yield b"again"
        return
    seen[id(thing)] = thing
    yield type(thing).__qualname__.encode()
    if isinstance(thing, torch.Tensor):
        thing = thing.detach().cpu().numpy()
    if isinstance(thing, np.ndarray):
        yield f"{thing.dtype}{thing.shape}".encode()
        yield np.ascontiguousarray(thing).tobytes()
        return
    for inner in _inside(thing):
        yield from _parts(inner, seen)


def _inside(thing: object) -> list:
    """What a value consists of, as further values."""
    if isinstance(thing, functools.partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, types.CodeType):
        return [thing.co_code, thing.co_consts, thing.co_names, thing.co_varnames]
    if isinstance(thing, types.MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, types.FunctionType):
        if _of_library(thing.__module__):
            return [f"{thing.__module__}.{thing.__qualname__}"]
        return [thing.__code__, thing.__defaults__, thing.__kwdefaults__, _closed_over(thing), _named(thing)]
    if isinstance(thing, dict):
        return [item for pair in sorted(thing.items(), key=lambda pair: str(pair[0])) for item in pair]
    if isinstance(thing, (list, tuple)):
        return list(thing)
    if isinstance(thing, (set, frozenset)):
        return sorted(map(fingerprint, thing))
    if isinstance(thing, type) and not _of_library(thing.__module__):
        return [thing.__qualname__, [base for base in thing.__bases__ if base is not object],
                {name: value for name, value in vars(thing).items() if name not in UNSAID}]
    if isinstance(thing, (staticmethod, classmethod)):
        return [thing.__func__]
    if isinstance(thing, property):
        return [thing.fget]
    if isinstance(thing, types.ModuleType):
        return [thing.__name__]
    if isinstance(thing, (type, types.BuiltinFunctionType)):
        return [f"{thing.__module__}.{thing.__qualname__}"]
    if hasattr(thing, "__dict__"):
        return [type(thing), vars(thing)]
    said = repr(thing)
    return [type(thing), "" if " at 0x" in said else said]


UNSAID = frozenset({"__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__"})
"""What a class holds that no result depends on."""


def _closed_over(function: types.FunctionType) -> list:
    contents = []
    for cell in function.__closure__ or ():
        try:
            contents.append(cell.cell_contents)
        except ValueError:  # a name that is not bound yet
            contents.append("unbound")
    return contents


def _named(function: types.FunctionType) -> dict:
    """The globals that the code names, what it imports inside, and of the user's own modules the attributes that it
    names."""
    values: dict = {}
    for code in _codes(function.__code__):
        imported = _imported(code, function.__globals__.get("__package__"))
        values |= {f"import {name}": value for name, value in imported.items()
                   if not isinstance(value, types.ModuleType)}
        owner: Any = None
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval in function.__globals__:
                owner = values[step.argval] = function.__globals__[step.argval]
            elif step.opname in ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE"):
                owner = imported.get(step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and _own_module(owner) and step.argval in vars(owner):
                values[f"{owner.__name__}.{step.argval}"] = owner = vars(owner)[step.argval]
            elif step.opname not in PASSED:
                owner = None
    return values


def _imported(code: types.CodeType, package: str | None) -> dict[str, Any]:
    """Local name -> what the code of a function imports under it, of the user's own modules."""
    names: dict[str, Any] = {}
    value: Any = None
    level: Any = 0
    wanted: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            level, wanted = wanted, step.argval
        elif step.opname == "IMPORT_NAME":
            owner = value = _module(step.argval, level, wanted, package)
        elif step.opname == "IMPORT_FROM":
            value = vars(owner).get(step.argval) if _own_module(owner) else None
        elif step.opname in ("STORE_FAST", "STORE_DEREF") and value is not None:
            names[step.argval] = value
        elif step.opname == "POP_TOP":
            value = None
    return names


def _module(name: str, level: Any, wanted: Any, package: str | None) -> types.ModuleType | None:
    """What `import name` gives, or with something `wanted` of it `from … import`; None where it cannot be had."""
    with suppress(Exception):  # the import itself is the user's to see
        module = importlib.import_module("." * level + name, package)
        return module if wanted else sys.modules[name.partition(".")[0]]
    return None


PASSED = frozenset({"PUSH_NULL", "CACHE", "PRECALL", "EXTENDED_ARG"})
"""Instructions that may stand between a name and its attribute."""


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code and that of the functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _own_module(thing: object) -> bool:
    return isinstance(thing, types.ModuleType) and not _of_library(thing.__name__)


def _of_library(name: str | None) -> bool:
    """Whether a module is of an installed package, of Python or of this program, and no code of the user's."""
    return not any(plugins.within(name, plugin) for plugin in plugins.named()) and _installed(name)


@functools.lru_cache(maxsize=1024)
def _installed(name: str | None) -> bool:
    root = (name or "").partition(".")[0]
    if root in sys.stdlib_module_names or root == __name__.partition(".")[0]:
        return True
    file = vars(sys.modules[root]).get("__file__") if root in sys.modules else None
    return file is not None and any(Path(folder) in Path(file).parents for folder in _LIBRARIES)


_LIBRARIES = frozenset(sysconfig.get_paths()[name] for name in ("purelib", "platlib", "stdlib"))
