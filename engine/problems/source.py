"""Where a problem comes from: a dataset, the sizes drawn from it, a seed and the regularisation, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from engine import data
from engine.errors import InvalidInput
from engine.problems.softmax import SoftmaxProblem
from engine.values import Count, Number, Value

Size = Annotated[Count, Field(ge=1)]


class ProblemSource(Value):
    """A drawn softmax problem. Sizes left out take all there is; `pool` averages pixels in pool × pool squares."""

    dataset: str = "digits"
    n_train: Size | None = None
    n_test: Size | None = None
    n_queries: Size | None = None
    n_candidates: Size | None = None
    seed: Annotated[Count, Field(ge=0)] = 0
    pool: Annotated[Count, Field(ge=1, le=64)] = 1
    l2: Annotated[Number, Field(gt=0, le=1e6)] = 1e-4
    intercept: bool = False

    def parameters(self) -> int:
        """How many parameters the model has, without drawing or training it. Raises as `build` does."""
        dataset = data.load(self.dataset)
        return (dataset.n_features // self.pool**2 + self.intercept) * dataset.n_classes

    def build(self, device: str = "cpu") -> DrawnProblem:
        """Load, draw and wrap. Raises `InvalidInput` or `MissingData` with what to do."""
        dataset = data.load(self.dataset)
        sample = data.draw(dataset, n_train=self.n_train, n_test=self.n_test, n_queries=self.n_queries,
                           n_candidates=self.n_candidates, seed=self.seed)
        features = (sample.x_train, sample.x_query, sample.x_test)
        if self.pool > 1:
            features = tuple(average_pool(x, dataset.image_shape, self.pool) for x in features)
        problem = SoftmaxProblem(features[0], sample.y_train, features[1], sample.y_query, sample.candidates,
                                 l2=self.l2, intercept=self.intercept, classes=sample.n_classes, device=device)
        return DrawnProblem(self, problem, dataset, sample, features[2])


@dataclass(frozen=True, eq=False)
class DrawnProblem:
    """A problem with its dataset (for pictures and class names), its draw, and its test features (t, d)."""

    source: ProblemSource
    problem: SoftmaxProblem
    dataset: data.Dataset
    sample: data.Sample
    x_test: np.ndarray

    def test_accuracy(self) -> float:
        return self.problem.accuracy(self.x_test, self.sample.y_test)


_KEPT: dict[tuple[ProblemSource, str], DrawnProblem] = {}


def build_kept(source: ProblemSource, device: str = "cpu") -> DrawnProblem:
    """`source.build(device)`, kept until another is asked for: the chunks of a run follow each other."""
    if (source, device) not in _KEPT:
        _KEPT.clear()  # before the next is built, so that memory holds one
        _KEPT[source, device] = source.build(device)
    return _KEPT[source, device]


def average_pool(x: np.ndarray, image_shape: tuple[int, ...] | None, pool: int) -> np.ndarray:
    """Means over pool × pool squares of pixels: (n, h·w) → (n, (h/pool)·(w/pool)), colours kept apart.

    Raises `InvalidInput` where examples are not pictures or the sides do not divide.
    """
    if image_shape is None or image_shape[0] % pool or image_shape[1] % pool:
        raise InvalidInput(f"pool={pool} does not divide the pictures' sides {image_shape}; use a divisor, or 1.")
    h, w, *colour = image_shape
    squares = x.reshape(len(x), h // pool, pool, w // pool, pool, *colour)
    return squares.mean(axis=(2, 4)).reshape(len(x), -1)
