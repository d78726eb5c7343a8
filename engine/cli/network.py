"""The network that the command line names by model, checkpoint, input shape and the differentiated parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.basics.fingerprint import fingerprint
from engine.cli.setting import FitOptions, NetworkOptions, parse_shape
from engine.cli.spec_files import read_recipe
from engine.data.arrays import Arrays
from engine.data.dataset import digest
from engine.models import own_architecture
from engine.models.catalogue import build_model
from engine.models.checkpoint import load_checkpoint, read_state
from engine.models.network import selected
from engine.models.recipe import Recipe, TrainingRecipe
from engine.models.recorded import open_recording
from engine.problems import ModuleProblem, OfTargets, TargetProblem
from engine.problems.families.network import NETWORK_RECIPE, of_recording
from engine.problems.problem import pick_device
from engine.problems.trained import trained


def network_problem(arrays: Arrays, fit: FitOptions, network: NetworkOptions) -> ModuleProblem:
    """The network's problem on checked arrays, whose inputs are flat, in the precision of the network. Raises
    `InvalidInput`."""
    shape = input_shape(network, arrays)
    build = builder(network.model, shape, arrays.n_outputs, network.loss)
    kind = _kind(arrays, network.loss)
    wide, queries = (inputs.reshape(len(inputs), *shape) for inputs in (arrays.x_train, arrays.x_query))
    x = wide.astype("float32")  # what a network is trained on here
    if folder := recorded_folder(network):
        if fit.l2 is not None:
            raise InvalidInput("A recorded training has its own weight decay; leave out --l2.")
        y = arrays.y_train if arrays.targets is None else arrays.targets[arrays.y_train]
        return of_recording(open_recording(folder), build, x, y, lambda module, recipe, **others: (
            kind(module, wide, arrays.y_train, queries, arrays.y_query, arrays.candidates, recipe=recipe,
                          parameters=network.parameters, device=fit.device, **others)))
    recipe = _recipe(fit, network)
    selected(build(), network.parameters)  # refuses, before any training, a selection of nothing
    if network.checkpoint is None:
        identity = {"data": digest(x, arrays.y_train), "model": f"{network.model}:{build()}", "seed": 0,
                    "recipe": recipe.model_dump(mode="json")}
        if isinstance(own := kind.keywords.get("loss"), OfTargets):
            identity["loss"] = [fingerprint(own.loss), digest(own.targets.numpy())]
        training = trained(identity, build, x, arrays.y_train, recipe, 0, loss=own,
                           device=str(pick_device(fit.device)))
        module, states = training.module, training.checkpoints
    else:
        module = load_checkpoint(build(), network.checkpoint)
        states = tuple((read_state(path), 1.0) for path in network.trajectory or ())
    known = network.checkpoint is None or network.recipe is not None
    problem = kind(module, wide, arrays.y_train, queries, arrays.y_query, arrays.candidates,
                   parameters=network.parameters, l2=float(recipe.rule.penalty), recipe=recipe if known else None,
                   build=build, device=fit.device)
    problem.keep_checkpoints(states)
    return problem


def _kind(arrays: Arrays, name: str) -> partial[Any]:
    """What makes a problem of them: by a loss of the user's own, where their labels are rows of targets."""
    loss = own_architecture.loss_of(name)
    if loss is None or arrays.targets is None:
        return partial(ModuleProblem)
    return partial(TargetProblem, loss=OfTargets(loss, torch.tensor(arrays.targets)))


def recorded_folder(network: NetworkOptions) -> Path | None:
    """The recorded training that --trajectory names, where it is a folder. Raises `InvalidInput` for what does not go
    with one."""
    folders = [path for path in network.trajectory or () if path.is_dir()]
    if folders and (len(network.trajectory or ()) > 1 or network.checkpoint or network.recipe):
        raise InvalidInput("A recorded training has its own weights, checkpoints and recipe; leave out "
                           "--checkpoint, --recipe and any further --trajectory.")
    return folders[0] if folders else None


def _recipe(fit: FitOptions, network: NetworkOptions) -> Recipe:
    """How the network is trained, with --l2 as its weight decay. Raises `InvalidInput` for a file that says another."""
    if network.recipe is None:
        return NETWORK_RECIPE.model_copy(update={"weight_decay": fit.penalty()})
    given = read_recipe(network.recipe)
    check_penalty(given, fit)
    stated = given.stated_penalty
    return given.model_copy(update={"weight_decay": fit.penalty() if stated is None else stated})


def check_penalty(recipe: TrainingRecipe, fit: FitOptions) -> None:
    """Raises `InvalidInput` for a recipe that states another weight decay than --l2."""
    if recipe.stated_penalty is not None and fit.l2 not in (None, recipe.stated_penalty):
        raise InvalidInput(f"The recipe's weight_decay is {recipe.stated_penalty:g} and --l2 is {fit.l2:g}, but they "
                           "are the same penalty; give one value, or leave one out.")


def input_shape(network: NetworkOptions, arrays: Arrays) -> tuple[int, ...]:
    """(3, 32, 32) of `--shape 3,32,32`; without it flat, or as the arrays have it where a model of the user's own takes
    no other. Raises `InvalidInput` where it does not hold the features."""
    features = arrays.x_train.shape[1]
    if not network.shape and ":" in network.model:
        name = own_architecture.importable(network.model)
        own = own_architecture.Declaration(name=name, function=name, loss=network.loss)
        shapes = [(features,), *([arrays.shape] if len(arrays.shape) > 1 else [])]
        return own_architecture.shape_taken(own, shapes, arrays.n_outputs) or (features,)
    if not network.shape:
        return (features,)
    shape = parse_shape(network.shape)
    if min(shape) < 1 or torch.Size(shape).numel() != features:
        raise InvalidInput(f"--shape {network.shape} does not hold the {features:,} features of `x_train`; give "
                           "the shape of one input, channels first.")
    return shape


def builder(model: str, shape: tuple[int, ...], classes: int, loss: str = "") -> Callable[[], nn.Module]:
    """() -> a fresh module. Raises `InvalidInput` for an unknown name or a function that cannot be had."""
    if loss and ":" not in model:
        raise InvalidInput("A loss of your own belongs to a model of your own; name it as FILE.py:FUNCTION.")
    make = own_architecture.builder(model, loss) if ":" in model else partial(build_model, model)
    make(shape, classes)
    return partial(make, shape, classes)
