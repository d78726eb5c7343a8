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
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn

from engine.basics import plugins
from engine.basics.errors import InvalidInput
from engine.basics.fingerprint import fingerprint
from engine.basics.values import Count, Number, Value, canonical_json
from engine.models.any_recipe import AnyRecipe
from engine.models.catalogue import OWNED, Own, register_own
from engine.models.losses import Loss, check_logits
from engine.models.wrapped import in_precision, returning_logits, unwrapped

VARIABLE = "WHICHFLUENCE_MODEL"
PLUGIN = f"{__package__}.own_plugin"


class Declaration(Value):
    """An architecture, and what the pages begin with.

    name: what it is called in sources and on pages. function: `module:function` of a function of (shape, classes), or
    of nothing, that returns a torch module (b, *shape) -> (b, classes); or the name of a model of the catalogue. shape:
    of one input, where the data do not say it: (1, 28, 28), or (16,) of token ids. whole: whether inputs stay whole
    numbers (int64), as an embedding takes them. loss: `module:function` of a function of (outputs (b, C), targets (b,
    …)) -> (b,), where the model is trained on targets; empty for classes. recipe: how it is trained where it comes
    without weights, and was trained where it comes with them. l2: λ of its objective, where the recipe states it. data,
    weights: the names under which both are kept here, or none.
    """

    name: Annotated[str, Field(min_length=1, max_length=300)]
    function: str
    shape: tuple[Annotated[Count, Field(ge=1)], ...] = ()
    whole: bool = False
    loss: str = ""
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
        return {plugins.VARIABLE: ",".join(dict.fromkeys([*others, *filter(None, [
            self.module, self.loss.rpartition(":")[0]]), PLUGIN])),
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
    find modules, of a file with relative imports the folder of its package; what names no file stays as it is, and is
    looked for in the working folder too. Raises `InvalidInput`."""
    where, _, function = text.rpartition(":")
    if not where.endswith(".py"):
        top = Path(where.partition(".")[0])
        if top.is_dir() or top.with_suffix(".py").is_file():
            _search(Path.cwd())
        return text
    path = Path(where).expanduser().resolve()
    if not path.is_file():
        raise InvalidInput(f"There is no file `{where}`; name the model as FILE.py:FUNCTION.")
    folder, parts = _place(path)
    if odd := next((part for part in parts if not part.isidentifier()), ""):
        raise InvalidInput(f"`{odd}` cannot be imported under that name; name files and folders like Python modules, "
                           "such as `my_module.py`.")
    _search(folder)
    known = importlib.util.find_spec(parts[0])
    if known is None or (path if len(parts) == 1 else folder / parts[0]) not in {
            Path(place).resolve() for place in known.submodule_search_locations or [known.origin or ""]}:
        raise InvalidInput(f"`{parts[0]}` is the name of another module here; rename "
                           f"{'the file' if len(parts) == 1 else 'its folder'}.")
    return f"{'.'.join(parts)}:{function}"


def _place(path: Path) -> tuple[Path, list[str]]:
    """(the folder in which modules are looked for, the names that lead from there to a file): those of its package
    where it imports relatively to it."""
    folder, parts = path.parent, [path.stem]
    if re.search(rb"^\s*from\s+\.", path.read_bytes(), re.MULTILINE):
        folder, parts = folder.parent, [folder.name, *parts]
        while (folder / "__init__.py").is_file():
            folder, parts = folder.parent, [folder.name, *parts]
    return folder, parts


def _search(folder: Path) -> None:
    """Let this process, and those that it starts in other folders, find the modules of a folder."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(folder), *map(os.path.abspath, paths)]))


def register(own: Declaration) -> None:
    """Put a declared architecture among the models, where the catalogue does not have it. Raises `InvalidInput` where
    it cannot be had."""
    if own.module and own.name not in OWNED:
        function, loss = _function(own.function), loss_of(own.loss)
        code = (function, own.shape, own.whole, *([loss] if loss else []))
        register_own(own.name, _build(own, function), Own(own.shape, fingerprint(code), loss))


def loss_of(text: str) -> Loss | None:
    """The loss that FILE.py:FUNCTION or MODULE:FUNCTION names; None where it names none. Raises `InvalidInput`."""
    return _function(importable(text), "loss") if text else None


def builder(text: str, loss: str = "") -> Callable[[tuple[int, ...], int], nn.Module]:
    """(shape, classes) -> the module with fresh weights, of FILE.py:FUNCTION or MODULE:FUNCTION, as a `Declaration` of
    it and its loss has them. Raises `InvalidInput`, as does what it returns."""
    function = importable(text)
    return _build(Declaration(name=function, function=function, loss=loss), _function(function))


def shape_taken(own: Declaration, shapes: Sequence[tuple[int, ...]], classes: int) -> tuple[int, ...]:
    """The declared shape of one input; where none is, the first of `shapes` that the model takes, () for their first,
    which is the usual one, and where it takes none."""
    if own.shape or len(shapes) < 2:
        return own.shape
    taken = next((shape for shape in shapes if _takes(own, shape, classes)), shapes[0])
    return () if taken == shapes[0] else taken


def _takes(own: Declaration, shape: tuple[int, ...], classes: int) -> bool:
    try:
        _build(own, _function(own.function))(shape, classes)
    except InvalidInput:
        return False
    return True


def _function(text: str, noun: str = "model") -> Callable[..., Any]:
    name, _, attribute = text.rpartition(":")
    try:
        function = attrgetter(attribute)(importlib.import_module(name))
    except (Exception, SystemExit) as error:  # a user's module may raise anything, and a script may end
        raise InvalidInput(f"The {noun} `{text}` cannot be imported ({type(error).__name__}: "
                           f"{' '.join(str(error).split())}); "
                           "give FILE.py:FUNCTION or MODULE:FUNCTION that Python can import.") from error
    if isinstance(function, nn.Module) and noun == "model":
        raise InvalidInput(f"`{text}` is a module with weights, and every training begins with fresh ones; name its "
                           "class, or a function that returns a new module.")
    if not callable(function):
        returned = "a torch module" if noun == "model" else "one loss per example"
        raise InvalidInput(f"`{text}` is a {type(function).__name__}; name a function that returns {returned}.")
    return function


def _build(own: Declaration, function: Callable[..., nn.Module]) -> Callable[[tuple[int, ...], int], nn.Module]:
    """(shape, classes) -> the module with fresh weights, tried on two inputs. Raises `InvalidInput`."""
    call = _called(own, function)

    def build(shape: tuple[int, ...], classes: int) -> nn.Module:
        try:
            module = call(tuple(shape), classes)
        except (Exception, SystemExit) as error:
            raise InvalidInput(f"`{own.name}` cannot be built for inputs of shape {tuple(shape)} and {classes} classes "
                               f"({type(error).__name__}: {' '.join(str(error).split())[:160]}); it is called with the "
                               "shape, a tuple, and the number of classes, or with nothing.") from error
        if not isinstance(module, nn.Module):
            raise InvalidInput(f"`{own.name}` is a {type(module).__name__}; let {own.function} return a torch module.")
        module = returning_logits(unwrapped(module))
        if any(one.is_floating_point() and one.dtype != torch.float32 for one in module.parameters()):
            module = in_precision(module, torch.float32)
        if own.whole:
            module.register_forward_pre_hook(_as_whole)
        _tried(own, module, tuple(shape), classes)
        return module

    return build


def _called(own: Declaration, function: Callable) -> Callable[[tuple[int, ...], int], nn.Module]:
    """(shape, classes) -> what a function returns that takes these two, by their names or in this order, or nothing.
    Raises `InvalidInput` for one that takes others."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    parameters = signature.parameters.values()
    if not any(one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
               or one.kind is one.VAR_POSITIONAL for one in parameters):
        return lambda shape, classes: function()
    if {"shape", "classes"} <= {one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD}:
        return lambda shape, classes: function(shape=shape, classes=classes)
    try:
        signature.bind((), 0)
    except TypeError:
        raise InvalidInput(f"`{own.function}` takes {signature}; let it take the shape of one input, a tuple, and the "
                           "number of classes, in this order, or nothing.") from None
    return function


def _as_whole(_module: nn.Module, inputs: tuple) -> tuple:
    """Inputs as whole numbers, which arrays of features hold exactly up to 2^24."""
    return (inputs[0].long(), *inputs[1:])


def _tried(own: Declaration, module: nn.Module, shape: tuple[int, ...], classes: int) -> None:
    """Raises `InvalidInput` where two inputs do not come out as (2, classes); with a loss of one's own, as (2, C)."""
    name, training = own.name, module.training
    try:
        with torch.no_grad():
            outputs = module.eval()(torch.zeros(2, *shape))
    except Exception as error:
        raise InvalidInput(f"`{name}` does not take inputs of shape {shape} ({' '.join(str(error).split())[:160]}); "
                           "give the shape of one input, declare inputs as whole numbers, or give matching "
                           "data.") from error
    finally:
        module.train(training)
    if not isinstance(outputs, Tensor):
        raise InvalidInput(f"`{name}` returns a {type(outputs).__name__}; let it return the class logits alone, or "
                           "under the name `logits`.")
    if own.loss:
        if outputs.ndim != 2 or len(outputs) != 2:
            raise InvalidInput(f"`{name}` returns shape {tuple(outputs.shape)} for two inputs; it must be (2, C), one "
                               "row of outputs for each input, also where C is 1.")
    elif outputs.shape != (2, classes):
        raise InvalidInput(f"`{name}` returns shape {tuple(outputs.shape)} for two inputs; it must be (2, {classes}), "
                           "one logit for each class of the data.")
    check_logits(outputs)
