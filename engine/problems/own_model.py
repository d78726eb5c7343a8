"""Declaring a model of one's own, its weights and its data, so that every page offers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine import data as datasets
from engine.basics.errors import InvalidInput
from engine.models import own_weights
from engine.models.catalogue import MODELS
from engine.models.causal import loading
from engine.models.own_architecture import Declaration, importable, register, shape_taken
from engine.models.recipe import TrainingRecipe
from engine.models.recorded import stored_recordings
from engine.problems.families.inputs import shapes
from engine.problems.source import SOFTMAX, ProblemSource


def declare(*, model: str = "", name: str = "", checkpoint: Path | None = None, data: Path | None = None,
            read: Mapping[str, Any] = MappingProxyType({}), shape: tuple[int, ...] = (), whole: bool = False,
            loss: str = "", recipe: TrainingRecipe | None = None) -> Iterator[str]:
    """Keep data and weights, export a `Declaration` to the processes that are started from here, and yield sentences
    that say what is understood. The model is built and tried on the data, so that nothing starts where it does not fit.

    model: FILE.py:FUNCTION, MODULE:FUNCTION or a name; empty for softmax regression. checkpoint: its weights, or the
    folder of a recorded training; they need data to be tried on. read: how the data are read, fields of
    `UploadOptions`. loss: FILE.py:FUNCTION or MODULE:FUNCTION of outputs and targets, where data have targets. Raises
    `InvalidInput` or `MissingData`.
    """
    if not model and (checkpoint or name or shape or whole or loss or recipe):
        raise InvalidInput("A checkpoint, a name, a shape, whole numbers, a loss and a recipe belong to a model; name "
                           "the model too.")
    if loss and ":" not in model:
        raise InvalidInput("A loss of your own belongs to a model of your own; name it as FILE.py:FUNCTION.")
    if checkpoint and not data:
        raise InvalidInput("Weights are tested on data before use; give the data too.")
    known = model in (*MODELS, *loading.available())
    function = importable(model) if ":" in model else model if known else loading.absolute(model) or SOFTMAX
    if ":" not in function and name not in ("", function):
        raise InvalidInput(f"`{function}` has this name on every page; leave out the other name.")
    called = name or (function.partition(":")[0].rpartition(".")[2] if ":" in function else function)
    dataset = datasets.uploads.keep_path(data, **{**read, **({"targets": True} if loss else {})}) if data else ""
    own = Declaration(name=called, function=function, shape=shape, whole=whole, loss=loss and importable(loss),
                      recipe=recipe,
                      l2=recipe.stated_penalty if recipe else None, data=dataset)
    if dataset and own.module:
        loaded = datasets.load(dataset)
        own = own.model_copy(update={"shape": shape_taken(own, shapes(loaded), loaded.n_outputs)})
    own.export()
    register(own)
    if dataset:
        yield from _understood(own)
    if checkpoint:
        own = own.model_copy(update={"weights": _weights(own, checkpoint)})
        own.export()
        yield f"Weights: {checkpoint.name}, all of them fit `{called}`."


def _understood(own: Declaration) -> Iterator[str]:
    loaded = datasets.load(own.data)
    texts = loaded.records is not None
    classes = f"examples of {loaded.n_classes} classes" if loaded.targets is None else "examples with targets"
    noun = "records" if texts else classes
    yield f"Data: {len(loaded.y_train):,} {noun} to train on, {len(loaded.y_test):,} to ask about."
    yield from loaded.said
    if own.function != SOFTMAX or texts:
        source = _source(own)
        source.family.check(source, loaded)
        yield f"Model: `{own.name}` with {source.parameters():,} differentiated parameters."


def _weights(own: Declaration, checkpoint: Path) -> str:
    module = _source(own).build_module
    if checkpoint.is_dir():
        return stored_recordings.keep(checkpoint, module)
    if not checkpoint.is_file():
        raise InvalidInput(f"There is no checkpoint `{checkpoint}`; check the path.")
    with open(checkpoint, "rb") as file:
        return own_weights.keep(file, checkpoint.name, module())


def _source(own: Declaration) -> ProblemSource:
    return ProblemSource(dataset=own.data, model=own.name, recipe=own.recipe)
