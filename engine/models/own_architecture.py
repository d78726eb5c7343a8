"""A user's own architecture among the models, named where a program is started, by the command `run`.

Only the command line and the environment name code; a page chooses among names. The command exports a `Declaration`
and names `own_plugin` a plugin (`engine.basics.plugins`), so that the server and every worker register the same model.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from engine.basics import plugins
from engine.basics.errors import InvalidInput
from engine.basics.fingerprint import fingerprint
from engine.basics.values import Count, Number, Value, canonical_json
from engine.models.any_recipe import AnyRecipe
from engine.models.catalogue import OWNED, Own, register_own
from engine.models.losses import check_logits
from engine.models.wrapped import unwrapped

VARIABLE = "WHICHFLUENCE_MODEL"
PLUGIN = f"{__package__}.own_plugin"


class Declaration(Value):
    """An architecture, and what the pages begin with.

    name: what it is called in sources and on pages. function: `module:function` of a function of (shape, classes), or
    of nothing, that returns a torch module (b, *shape) -> (b, classes); or the name of a model of the catalogue.
    shape: of one input, where the data do not say it: (1, 28, 28), or (16,) of token ids. whole: whether inputs stay
    whole numbers (int64), as an embedding takes them. recipe: how it is trained where it comes without weights, and
    was trained where it comes with them. l2: λ of its objective, where the recipe states it. data, weights: the names
    under which both are kept here, or none.
    """

    name: Annotated[str, Field(min_length=1, max_length=300)]
    function: str
    shape: tuple[Annotated[Count, Field(ge=1)], ...] = ()
    whole: bool = False
    recipe: AnyRecipe | None = None
    l2: Number | None = None
    data: str = ""
    weights: str = ""

    @property
    def module(self) -> str:
        """The module that the function stands in; empty for a model of the catalogue."""
        return self.function.rpartition(":")[0]

    def export(self) -> None:
        """Declare it for this process and those that it starts."""
        os.environ.update(self._variables(plugins.named()))

    @property
    def shell(self) -> str:
        """The line of a shell that declares it to the commands after it, in the folder of the module."""
        plain = self.model_copy(update={"data": "", "weights": "", "recipe": None, "l2": None})
        pairs = {"PYTHONPATH": ".", **plain._variables(())}
        return "export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in pairs.items())

    def _variables(self, others: Sequence[str]) -> dict[str, str]:
        return {plugins.VARIABLE: ",".join(dict.fromkeys([*others, *filter(None, [self.module]), PLUGIN])),
                VARIABLE: canonical_json(self.model_dump(mode="json", exclude_defaults=True))}


def declared() -> Declaration | None:
    """What the environment declares; None where it declares nothing. Raises `InvalidInput`."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    try:
        return Declaration.parse(json.loads(text))
    except json.JSONDecodeError:
        raise InvalidInput(f"{VARIABLE} is not JSON; let the command `run` write it.") from None


def importable(text: str) -> str:
    """`module:function` of `path/to/file.py:function`, whose folder is put where this process and those that it starts
    find modules; what names no file stays as it is. Raises `InvalidInput`."""
    where, _, function = text.rpartition(":")
    if not where.endswith(".py"):
        return text
    path = Path(where).expanduser().resolve()
    if not path.is_file():
        raise InvalidInput(f"There is no file `{where}`; name the model as FILE.py:FUNCTION.")
    if not path.stem.isidentifier():
        raise InvalidInput(f"`{path.name}` cannot be imported under that name; name the file like a Python module, "
                           "such as `my_module.py`.")
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    known = importlib.util.find_spec(path.stem)
    if known is None or known.origin is None or Path(known.origin).resolve() != path:
        raise InvalidInput(f"`{path.stem}` is the name of another module here; rename the file.")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([folder, *filter(None, paths)]))
    return f"{path.stem}:{function}"


def register(own: Declaration) -> None:
    """Put a declared architecture among the models, where the catalogue does not have it. Raises `InvalidInput` where
    it cannot be had."""
    if own.module and own.name not in OWNED:
        function = _function(own.function)
        register_own(own.name, _build(own, function), Own(own.shape, fingerprint((function, own.shape, own.whole))))


def builder(text: str) -> Callable[[tuple[int, ...], int], nn.Module]:
    """(shape, classes) -> the module with fresh weights, of FILE.py:FUNCTION or MODULE:FUNCTION, as a `Declaration` of
    it has them. Raises `InvalidInput`, as does what it returns."""
    function = importable(text)
    return _build(Declaration(name=function, function=function), _function(function))


def shape_of_arrays(own: Declaration, flat: int, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
    """The shape of one input where none is declared: of an example of several dimensions its own, where the model takes
    that and no flat one of so many features; else (), which is flat."""
    if own.shape or len(shape) < 2 or _takes(own, (flat,), classes):
        return own.shape
    return shape if _takes(own, shape, classes) else ()


def _takes(own: Declaration, shape: tuple[int, ...], classes: int) -> bool:
    try:
        _build(own, _function(own.function))(shape, classes)
    except InvalidInput:
        return False
    return True


def _function(text: str) -> Callable[..., nn.Module]:
    name, _, attribute = text.rpartition(":")
    try:
        return getattr(importlib.import_module(name), attribute)
    except Exception as error:  # a user's module may raise anything
        raise InvalidInput(f"The model `{text}` cannot be imported ({type(error).__name__}: "
                           f"{' '.join(str(error).split())}); "
                           "give FILE.py:FUNCTION or MODULE:FUNCTION that Python can import.") from error


def _build(own: Declaration, function: Callable[..., nn.Module]) -> Callable[[tuple[int, ...], int], nn.Module]:
    """(shape, classes) -> the module with fresh weights, tried on two inputs. Raises `InvalidInput`."""
    free = _takes_nothing(function)

    def build(shape: tuple[int, ...], classes: int) -> nn.Module:
        try:
            module = function() if free else function(tuple(shape), classes)
        except Exception as error:
            raise InvalidInput(f"`{own.name}` cannot be built for inputs of shape {tuple(shape)} and {classes} classes "
                               f"({type(error).__name__}: {' '.join(str(error).split())[:160]}).") from error
        if not isinstance(module, nn.Module):
            raise InvalidInput(f"`{own.name}` is a {type(module).__name__}; let {own.function} return a torch module.")
        module = unwrapped(module)
        if own.whole:
            module.register_forward_pre_hook(_as_whole)
        _tried(own.name, module, tuple(shape), classes)
        return module

    return build


def _takes_nothing(function: Callable) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return not any(one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
                   or one.kind is one.VAR_POSITIONAL for one in parameters)


def _as_whole(_module: nn.Module, inputs: tuple) -> tuple:
    """Inputs as whole numbers, which arrays of features hold exactly up to 2^24."""
    return (inputs[0].long(), *inputs[1:])


def _tried(name: str, module: nn.Module, shape: tuple[int, ...], classes: int) -> None:
    """Raises `InvalidInput` where two inputs do not come out as (2, classes)."""
    training = module.training
    try:
        with torch.no_grad():
            outputs = module.eval()(torch.zeros(2, *shape))
            returned = tuple(outputs.shape)
    except Exception as error:
        raise InvalidInput(f"`{name}` does not take inputs of shape {shape} ({' '.join(str(error).split())[:160]}); "
                           "give the shape of one input, declare inputs as whole numbers, or give matching "
                           "data.") from error
    finally:
        module.train(training)
    if returned != (2, classes):
        raise InvalidInput(f"`{name}` returns shape {returned} for two inputs; it has to be (2, {classes}), one logit "
                           "for each class of the data.")
    check_logits(outputs)
