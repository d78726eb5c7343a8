"""Modules of the user's own that every process of ours imports at its start: command line, dashboard and worker.

`WHICHFLUENCE_PLUGINS` names them, with commas between, as `import` would: what such a module registers is then known
wherever it is computed.
"""

from __future__ import annotations

import functools
import importlib
import os
import types

from engine.basics.errors import InvalidInput

VARIABLE = "WHICHFLUENCE_PLUGINS"


def named() -> tuple[str, ...]:
    """The names of the modules, in the order in which they are imported."""
    return tuple(name for part in os.environ.get(VARIABLE, "").split(",") if (name := part.strip()))


def load() -> None:
    """Import the modules; what is imported already stays as it is. Raises `InvalidInput` for one that cannot be."""
    for name in named():
        try:
            importlib.import_module(name)
        except Exception as error:
            said = " ".join(str(error).split())
            raise InvalidInput(f"The plugin `{name}` that {VARIABLE} names cannot be imported ({type(error).__name__}: "
                               f"{said}); correct it, put its folder on PYTHONPATH, or remove it from "
                               f"{VARIABLE}.") from error


def holding(function: object) -> str:
    """The name of the plugin in which a function is written; empty where it is none."""
    while isinstance(function, functools.partial):
        function = function.func
    plain = isinstance(function, (types.FunctionType, types.MethodType))
    module = function.__module__ if plain else type(function).__module__
    return next((name for name in named() if within(module, name)), "")


def within(module: str | None, name: str) -> bool:
    """Whether a module is the one called `name` or lies in that package."""
    return module == name or (module or "").startswith(f"{name}.")
