"""How the model of a search reads its data and is trained: networks by a recipe, regressions at their optimum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write, make_folder
from engine.basics.options import Options
from engine.basics.strict_json import parse_object
from engine.basics.values import canonical_json
from engine.data import Dataset
from engine.data.dataset import digest
from engine.models.catalogue import LOGISTIC, PRETRAINED
from engine.models.checkpoint import read_state, save_checkpoint
from engine.models.recipe import Recipe
from engine.models.regression import NUMERICS, TOLERANCE, choose_penalty, fit_regression, head
from engine.models.training import train
from engine.problems.families.pretrained import pretrained_features
from engine.problems.trained import TrainedNetwork, trained, weights_file

Part = tuple[str, np.ndarray]
"""A split of a dataset, and rows of it."""
Examples = Callable[[], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """What a model is trained on: x (n, …) float32 as it reads them, y (n,) of so many classes, and weights (n,),
    None for ones; build () -> a network with fresh weights; identity: what determines the result, None where it is not
    to be stored."""

    x: np.ndarray
    y: np.ndarray
    classes: int
    build: Callable[[], nn.Module]
    recipe: Recipe
    seed: int
    weights: np.ndarray | None = None
    identity: Mapping[str, Any] | None = None


class Learner(ABC):
    """without: methods that say nothing of such a model. folds: into how many parts all labels are held out in turn.
    passes: whether it is trained for a number of epochs. sentence: what it is, for people. contents: what decides what
    it reads besides the data."""

    contents: ClassVar[Mapping[str, str]] = MappingProxyType({})
    without: ClassVar[frozenset[str]] = frozenset()
    folds: ClassVar[int] = 4
    passes: ClassVar[bool] = True
    sentence: str = ""

    def read(self, dataset: Dataset, parts: Sequence[Part], options: Options) -> list[np.ndarray] | None:
        """The inputs of each part, the first of which is what is trained on; None where it reads features as they
        are."""
        return None

    def recipe(self, given: Recipe, seed: int, identity: Mapping[str, Any], examples: Examples, options: Options
               ) -> Recipe:
        """The recipe with the weight decay that the model has. identity: what determines it; examples () -> x (n, …) as
        the model reads them and y (n,)."""
        return given

    @abstractmethod
    def fit(self, task: TrainingTask, device: str, options: Options) -> TrainedNetwork:
        """The trained network, or as it was trained before where the task has an identity."""


class ByRecipe(Learner):
    """A network of `engine.models.catalogue`."""

    def fit(self, task: TrainingTask, device: str, options: Options) -> TrainedNetwork:
        if task.identity is not None:
            return trained(task.identity, task.build, task.x, task.y, task.recipe, task.seed, device=device,
                           check=options.check, progress=options.progress)
        weights = None if task.weights is None else torch.tensor(task.weights)
        made = train(task.build, torch.tensor(task.x), torch.tensor(task.y),
                     task.recipe.model_copy(update={"checkpoints": 0}), task.seed, weights=weights, device=device,
                     check=options.check, progress=options.progress)
        return TrainedNetwork(made.module, ())


@dataclass(frozen=True)
class Regression(Learner):
    """Logistic regression at its optimum on features (dataset, split, rows, options) -> (b, F), standardised by the
    training examples, of pictures by one spread for all features; it has no trajectory for TracIn. tolerance: of fits
    that are not stored."""

    features: Callable[[Dataset, str, np.ndarray, Options], np.ndarray]
    sentence: str
    tolerance: float = TOLERANCE
    contents: ClassVar[Mapping[str, str]] = MappingProxyType({"features": "3"})
    passes: ClassVar[bool] = False
    without: ClassVar[frozenset[str]] = frozenset({"tracin"})
    folds: ClassVar[int] = 5

    def read(self, dataset: Dataset, parts: Sequence[Part], options: Options) -> list[np.ndarray]:
        sizes = np.cumsum([0, *(len(rows) for _, rows in parts)]) / max(1, sum(len(rows) for _, rows in parts))
        read = [self.features(dataset, *part, options.between(*ends)) if len(part[1]) else None
                for part, ends in zip(parts, zip(sizes[:-1], sizes[1:], strict=True), strict=True)]
        first = read[0]
        assert first is not None, "of training examples"
        return [np.empty((0, first.shape[1]), np.float32) if x is None else
                standardised(x, first, dataset.image_shape is not None) for x in read]

    def recipe(self, given: Recipe, seed: int, identity: Mapping[str, Any], examples: Examples, options: Options
               ) -> Recipe:
        """With λ, which is chosen once for an identity and stored."""
        path = weights_file({**identity, "chosen": "penalty"}).with_suffix(".json")
        if path.is_file():
            penalty = float(parse_object(path.read_bytes(), "the stored penalty")["penalty"])
        else:
            penalty = choose_penalty(*examples(), seed, options.check)
            make_folder(path.parent)
            atomic_write(path, canonical_json({"penalty": penalty}))
        return given.model_copy(update={"weight_decay": penalty, "checkpoints": 0})

    def fit(self, task: TrainingTask, device: str, options: Options) -> TrainedNetwork:
        """A task with an identity is stored by its content."""
        options.check()
        module: nn.Module
        if task.identity is None:
            module = fit_regression(task.x, task.y, task.classes, task.recipe.weight_decay, task.weights,
                                    self.tolerance)
        else:
            module = _stored(task)
        options.progress(1.0)
        return TrainedNetwork(module.to(device), ())


def _stored(task: TrainingTask) -> nn.Module:
    """The regression of a task without weights, fitted once for its data."""
    path = weights_file({"regression": digest(task.x, task.y), "classes": task.classes,
                         "penalty": task.recipe.weight_decay, "numerics": NUMERICS})
    if path.is_file():
        with suppress(InvalidInput, RuntimeError):  # damaged: it is fitted anew
            module = head(task.x.shape[1], task.classes)
            module.load_state_dict(read_state(path))
            return module
    module = fit_regression(task.x, task.y, task.classes, task.recipe.weight_decay)
    make_folder(path.parent)
    save_checkpoint(module.state_dict(), path)
    return module


def standardised(x: np.ndarray, by: np.ndarray, one_spread: bool) -> np.ndarray:
    """Features (b, F) float32, less the mean of the features `by` (n, F), in units of their spread: of each its own, or
    with `one_spread` the root mean square of all."""
    spread = by.std(0)
    spread = np.sqrt((spread ** 2).mean()) if one_spread else spread
    return ((x - by.mean(0)) / np.where(spread > 0, spread, 1)).astype(np.float32)


def _as_they_are(dataset: Dataset, split: str, rows: np.ndarray, options: Options) -> np.ndarray:
    return dataset.features(split, rows).astype(np.float32)


NETWORK = ByRecipe()
REGRESSIONS: Mapping[str, Regression] = {
    PRETRAINED: Regression(pretrained_features,
                           "Logistic regression on features of a small pretrained model: EfficientNet-Lite0 for "
                           "images, WordLlama for texts. Nothing is downloaded; features are computed once."),
    LOGISTIC: Regression(_as_they_are, "Logistic regression on the columns as they are read, or on your embeddings, "
                                       "with the penalty that predicts held-out labels best.")}


def learner(model: str) -> Learner:
    """How a model is trained, by its name; what is no regression is a network of the catalogue."""
    return REGRESSIONS.get(model, NETWORK)
