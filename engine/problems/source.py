"""Where a problem comes from: a dataset, the sizes drawn from it, a seed and the regularisation, as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from torch import nn

from engine import data
from engine.basics.errors import InvalidInput
from engine.basics.latest import Latest
from engine.basics.values import Count, Number, Value, canonical_json
from engine.models import own_weights
from engine.models.catalogue import build_model
from engine.models.network import ALL, selected
from engine.models.recipe import PAPER_CNN, Recipe
from engine.problems.module import ModuleProblem
from engine.problems.problem import Problem, pick_device
from engine.problems.softmax import SoftmaxProblem
from engine.problems.trained import trained, weights_file

Size = Annotated[Count, Field(ge=1)]


NUMERICS = 1
"""Raised where the same training gives other weights."""
SOFTMAX = "softmax"
NETWORK_RECIPE = PAPER_CNN.model_copy(update={"checkpoints": 5})


class ProblemSource(Value):
    """A drawn problem. Sizes left out take all there is; `pool` averages pixels in pool × pool squares.

    model: `softmax` for softmax regression, or a network by the name that `engine.models.catalogue` knows it under,
    trained by `recipe` (default: the paper's for its CNN) with l2 as weight decay and the seed of the draw.
    selection: which of a network's parameters count, as `engine.models.network.Network` reads it. weights: a user's
    own trained weights by the name that `engine.models.own_weights` keeps them under, in place of training; there are
    no checkpoints then, and no retraining unless a recipe is given, because how they came about is not known.
    """

    dataset: str = "digits"
    n_train: Size | None = None
    n_test: Size | None = None
    n_queries: Size | None = None
    n_candidates: Size | None = None
    seed: Annotated[Count, Field(ge=0)] = 0
    pool: Annotated[Count, Field(ge=1, le=64)] = 1
    l2: Annotated[Number, Field(gt=0, le=1e6)] = 1e-4
    intercept: bool = False
    model: str = SOFTMAX
    selection: str = ALL
    recipe: Recipe | None = None
    weights: str = ""

    @model_serializer(mode="wrap")
    def _without_network(self, serialize: SerializerFunctionWrapHandler) -> dict:
        """What only networks have is written for them alone: softmax problems keep the digests they had."""
        left_out = ("model", "selection", "recipe", "weights") if self.model == SOFTMAX else (
            () if self.weights else ("weights",))
        return {key: value for key, value in serialize(self).items() if key not in left_out}

    @property
    def contents(self) -> dict[str, str]:
        """What the names in it stand for on this machine, as digests; empty where it is not here.

        Raises `InvalidInput` for a dataset that does not exist.
        """
        own = {"weights": own_weights.content(self.weights)} if self.weights else {}
        return {"data": data.content(self.dataset), **own}

    @property
    def key(self) -> str:
        """One text for one problem: the source and what its names stand for. Raises as `contents` does."""
        return canonical_json({"source": self.model_dump(mode="json"), "contents": self.contents})

    @property
    def problem_class(self) -> type[Problem]:
        """The class of the problem it builds."""
        return problem_class(self.model)

    @property
    def kind(self) -> str:
        """The kind of problem it builds: what estimators choose their route by."""
        return self.problem_class.kind

    def parameters(self) -> int:
        """How many parameters the model has, without drawing or training it. Raises as `build` does."""
        dataset = data.load(self.dataset)
        if self.model != SOFTMAX:
            module = self.build_module()
            named = dict(module.named_parameters())
            return sum(named[name].numel() for name in selected(module, self.selection))
        return (dataset.n_features // self.pool**2 + self.intercept) * dataset.n_classes

    def build_module(self) -> nn.Module:
        """The network with fresh weights."""
        dataset = data.load(self.dataset)
        return build_model(self.model, self.input_shape(dataset), dataset.n_classes)

    def input_shape(self, dataset: data.Dataset) -> tuple[int, ...]:
        """The shape of one input to a network."""
        return input_shape(dataset, self.pool)

    def draw(self) -> tuple[data.Dataset, data.Sample]:
        """The dataset and what is drawn of it. Raises `InvalidInput` or `MissingData` with what to do."""
        dataset = data.load(self.dataset)
        return dataset, data.draw(dataset, n_train=self.n_train, n_test=self.n_test, n_queries=self.n_queries,
                                  n_candidates=self.n_candidates, seed=self.seed)

    def build(self, device: str = "cpu", check: Callable[[], None] = lambda: None,
              progress: Callable[[float], None] = lambda share: None) -> DrawnProblem:
        """Load, draw, wrap, and train a network. Raises `InvalidInput` or `MissingData` with what to do."""
        dataset, sample = self.draw()
        features: tuple[np.ndarray, ...] = (sample.x_train, sample.x_query, sample.x_test)
        if self.pool > 1:
            features = tuple(average_pool(x, dataset.image_shape, self.pool) for x in features)
        if self.model != SOFTMAX:
            shape = self.input_shape(dataset)
            features = tuple(as_inputs(x, shape) for x in features)
            problem: Problem = self._network_problem(features, sample, device, check, progress)
        else:
            problem = SoftmaxProblem(features[0], sample.y_train, features[1], sample.y_query, sample.candidates,
                                     l2=self.l2, intercept=self.intercept, classes=sample.n_classes, device=device)
        return DrawnProblem(self, problem, dataset, sample, features[2])

    @property
    def training_recipe(self) -> Recipe:
        """How a network is trained: the recipe with l2 as its weight decay."""
        return (self.recipe or NETWORK_RECIPE).model_copy(update={"weight_decay": self.l2})

    @property
    def is_trained(self) -> bool:
        """Whether `build` takes a moment only; softmax regression always does, next to a network."""
        return self.model == SOFTMAX or bool(self.weights) or weights_file(self.identity).is_file()

    @property
    def identity(self) -> dict[str, Any]:
        """What determines a network's weights."""
        given = {name: getattr(self, name) for name in ("dataset", "n_train", "pool", "model", "seed")}
        return {**given, "content": data.content(self.dataset), "numerics": NUMERICS,
                "recipe": self.training_recipe.model_dump(mode="json")}

    def _network_problem(self, features: tuple[np.ndarray, ...], sample: data.Sample, device: str,
                         check: Callable[[], None], progress: Callable[[float], None]) -> ModuleProblem:
        recipe, device, classes = self.training_recipe, str(pick_device(device)), sample.n_classes

        def build() -> nn.Module:
            return build_model(self.model, features[0].shape[1:], classes)

        if self.weights:
            return ModuleProblem(own_weights.load(self.weights, build()), features[0], sample.y_train, features[1],
                                 sample.y_query, sample.candidates, parameters=self.selection, l2=self.l2,
                                 recipe=recipe if self.recipe else None, build=build, seed=self.seed, device=device)
        network = trained(self.identity, build, features[0], sample.y_train, recipe, self.seed, device=device,
                          check=check, progress=progress)
        problem = ModuleProblem(network.module, features[0], sample.y_train, features[1], sample.y_query,
                                sample.candidates, parameters=self.selection, l2=self.l2, recipe=recipe, build=build,
                                seed=self.seed, device=device)
        problem.keep_checkpoints(network.checkpoints)
        return problem


@dataclass(frozen=True, eq=False)
class DrawnProblem:
    """A problem with its dataset (for pictures and class names), its draw, and its test features (t, d)."""

    source: ProblemSource
    problem: Problem
    dataset: data.Dataset
    sample: data.Sample
    x_test: np.ndarray

    def test_accuracy(self) -> float:
        return self.problem.accuracy(self.x_test, self.sample.y_test)


def problem_class(model: str) -> type[Problem]:
    """The class of the problems of a model, given by the name that sources know it under."""
    return SoftmaxProblem if model == SOFTMAX else ModuleProblem


_LATEST: Latest[DrawnProblem] = Latest()


def build_kept(source: ProblemSource, device: str = "cpu", **watch: Callable) -> DrawnProblem:
    """`source.build(device, **watch)`, kept until another is asked for: the chunks of a run follow each other."""
    return _LATEST.get((source.key, device), lambda: source.build(device, **watch))


def input_shape(dataset: data.Dataset, pool: int) -> tuple[int, ...]:
    """The shape of one input to a network: (channels, height, width) of a picture, else (features,)."""
    if dataset.image_shape is None:
        return (dataset.n_features,)
    h, w, *colours = dataset.image_shape
    return (colours[0] if colours else 1, h // pool, w // pool)


def as_inputs(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Flat features (n, d), pictures with colours last, as float32 inputs (n, *shape), channels first."""
    x = x.astype(np.float32)
    if len(shape) == 1:
        return x
    channels, h, w = shape
    return np.ascontiguousarray(x.reshape(len(x), h, w, channels).transpose(0, 3, 1, 2))


def average_pool(x: np.ndarray, image_shape: tuple[int, ...] | None, pool: int) -> np.ndarray:
    """Means over pool × pool squares of pixels: (n, h·w) → (n, (h/pool)·(w/pool)), colours kept apart.

    Raises `InvalidInput` where examples are not pictures or the sides do not divide.
    """
    if image_shape is None or image_shape[0] % pool or image_shape[1] % pool:
        raise InvalidInput(f"pool={pool} does not divide the pictures' sides {image_shape}; use a divisor, or 1.")
    h, w, *colour = image_shape
    squares = x.reshape(len(x), h // pool, pool, w // pool, pool, *colour)
    return squares.mean(axis=(2, 4)).reshape(len(x), -1)
