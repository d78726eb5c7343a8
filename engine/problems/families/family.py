"""What a source asks of a family of models: softmax regression, networks on arrays, causal language models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data import Dataset, Sample
from engine.data.new_examples import NewExamples
from engine.data.new_files import of_file
from engine.models.recipe import TrainingRecipe
from engine.problems.candidates import Part
from engine.problems.families.fields import SourceFields
from engine.problems.families.inputs import pooled
from engine.problems.problem import Problem
from engine.problems.trained import is_kept

NUMERICS = 1
"""Raised where the same training gives other weights."""


@dataclass(frozen=True)
class Observer:
    """Who looks on while a model is trained. check: called before every step; raises to cancel. progress: the share
    that is done."""

    check: Callable[[], None] = lambda: None
    progress: Callable[[float], None] = lambda share: None


class Family(ABC):
    """How problems of a family are built. fields: the fields of a source that decide something for it.

    records: whether it is trained on texts.
    """

    problem_class: ClassVar[type[Problem]]
    fields: ClassVar[frozenset[str]]
    records: ClassVar[bool] = False

    def check(self, source: SourceFields, dataset: Dataset) -> None:
        """Raises `InvalidInput` where the model cannot be trained on the dataset."""
        if self.records and dataset.records is None:
            raise InvalidInput(f"`{dataset.name}` holds no texts, and `{source.model}` is a language model; use a "
                               "dataset such as `world_corruption`, or another model.")
        if not self.records and dataset.records is not None:
            raise InvalidInput(f"`{dataset.name}` holds texts, and `{source.model}` is not a language model; use one "
                               "such as `World-0.4M`, or another dataset.")
        if dataset.targets is not None and self.problem_class.reads != "targets":
            raise InvalidInput(f"The examples of `{dataset.name}` have targets, and `{source.model}` is trained on "
                               "classes; choose the model that came with its own loss.")
        if dataset.targets is None and self.problem_class.reads == "targets":
            raise InvalidInput(f"`{source.model}` is trained on targets by a loss of its own, and `{dataset.name}` has "
                               "classes; choose the data that came with the model, or another model.")

    @abstractmethod
    def parameters(self, source: SourceFields) -> int:
        """How many parameters count, without drawing or training. Raises as `build` does."""

    @abstractmethod
    def recipe(self, source: SourceFields) -> TrainingRecipe | None:
        """How the model is trained; None where it is at its one optimum anyway."""

    def no_training(self, source: SourceFields) -> str:
        """Why the model cannot be trained anew, as a sentence; empty where it can."""
        return ""

    def stored_checkpoints(self, source: SourceFields) -> int | None:
        """How many checkpoints there are for a trajectory to visit; None where it makes its own, or where only a
        recording says."""
        return None

    def contents(self, source: SourceFields) -> dict[str, str]:
        """What the names in a source, besides that of its data, stand for on this machine, as digests."""
        return {}

    @abstractmethod
    def identity(self, source: SourceFields) -> dict[str, Any]:
        """What determines the trained weights."""

    def is_trained(self, source: SourceFields) -> bool:
        """Whether `build` takes a moment only."""
        return is_kept(self.identity(source))

    @abstractmethod
    def build(self, source: SourceFields, dataset: Dataset, sample: Sample, device: str, watch: Observer) -> Problem:
        """The trained problem. Raises with what to do."""

    def inputs(self, source: SourceFields, dataset: Dataset, x: np.ndarray) -> np.ndarray:
        """Features (b, d) of a dataset's examples as inputs of the model."""
        return pooled(source, dataset, x)

    def with_new(self, source: SourceFields, dataset: Dataset, problem: Problem, new: NewExamples) -> Problem:
        """The problem with examples outside its training set as its candidates. Raises as `with_outside` does."""
        return problem.with_outside(self.inputs(source, dataset, new.features), new.labels)

    def new_parts(self, source: SourceFields, dataset: Dataset, problem: Problem, path: Path, size: int
                  ) -> Iterator[Part[Problem]]:
        """The same of a file or folder, so many of the examples at a time. Raises as `of_file` does."""
        new = of_file(path, dataset)
        return self.with_new(source, dataset, problem, new).in_parts(new.names, size)

    def test_inputs(self, source: SourceFields, dataset: Dataset, sample: Sample, problem: Problem) -> np.ndarray:
        """The test examples of a problem that was built, as its `accuracy` takes them."""
        return self.inputs(source, dataset, sample.x_test)
