"""Where a problem comes from: a dataset, the sizes drawn from it, a seed and a model, as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator
from torch import nn

from engine import data
from engine.basics.errors import InvalidInput
from engine.basics.latest import Latest
from engine.basics.noted import note, noting
from engine.basics.values import Count, Number, Seed, Value, canonical_json
from engine.data import new_files
from engine.data.new_examples import NewExamples, of_records
from engine.models import layers
from engine.models.any_recipe import AnyRecipe, read_recipe
from engine.models.catalogue import model_title
from engine.models.causal.marked import Mark
from engine.models.network import ALL
from engine.models.recipe import TrainingRecipe
from engine.problems.candidates import Part
from engine.problems.families import SOFTMAX, Family, Observer, family
from engine.problems.families.network import NetworkFamily
from engine.problems.problem import Problem, pick_device

Size = Annotated[Count, Field(ge=1)]
OF_FAMILIES = frozenset({"pool", "l2", "intercept", "model", "selection", "recipe", "weights", "tokens"})
"""The fields that decide something for some families alone."""
LATER = ("weights", "new_candidates", "tokens")
"""Fields that are not written at their defaults: others keep the digests they had."""
ALL_TOKENS: Mark = "response"


class ProblemSource(Value):
    """A drawn problem. Sizes left out take all there is; `pool` averages pixels in pool × pool squares.

    model: `softmax` for softmax regression, a network by the name that `engine.models.catalogue` knows it under, or a
    causal language model by the name that `engine.models.causal.loading` knows it under; trained by `recipe` (default:
    the family's own), a network with l2 as weight decay, with the seed of the draw.
    selection: which parameters of a network or a language model count, as `engine.models.network.Network` reads it,
    of a language model by the names that transformers gives them. weights: a user's own trained weights by the name
    that `engine.models.own_weights` keeps them under, in place of training; there are no checkpoints then, and no
    retraining unless a recipe is given, because how they came about is not known.
    new_candidates: examples outside the training set that are the candidates, by the name that `engine.data.new_files`
    keeps them under; n_candidates takes the first of them. tokens: those of a record whose loss is scored; by some of
    them alone candidates count as outside the training set, which holds them whole.
    """

    dataset: str = "digits"
    n_train: Size | None = None
    n_test: Size | None = None
    n_queries: Size | None = None
    n_candidates: Size | None = None
    seed: Seed = 0
    pool: Annotated[Count, Field(ge=1, le=64)] = 1
    l2: Annotated[Number, Field(ge=0, le=1e6)] = 1e-4
    intercept: bool = False
    model: str = SOFTMAX
    selection: Annotated[str, BeforeValidator(layers.spelled)] = ALL
    recipe: AnyRecipe | None = None
    weights: str = ""
    new_candidates: str = ""
    tokens: Mark = ALL_TOKENS

    @model_validator(mode="before")
    @classmethod
    def _penalised(cls, data: Any) -> Any:
        """λ is what a network's recipe states, where nothing else does."""
        if not isinstance(data, Mapping) or "l2" in data or not data.get("recipe"):
            return data
        recipe = read_recipe(data["recipe"], str(data.get("model", "")))
        stated = recipe.stated_penalty if isinstance(recipe, TrainingRecipe) else None
        return data if stated is None else {**data, "l2": stated}

    @model_validator(mode="after")
    def _one_optimum(self) -> ProblemSource:
        if self.model == SOFTMAX and not self.l2:
            raise InvalidInput("`l2` has to be above 0 for softmax regression, which has no single optimum without it.")
        return self

    @model_serializer(mode="wrap")
    def _of_its_family(self, serialize: SerializerFunctionWrapHandler) -> dict:
        """What decides nothing for a family is not written: a source keeps its digest when families are added."""
        usual = {name for name in LATER if getattr(self, name) == type(self).model_fields[name].default}
        left_out = OF_FAMILIES - self.family.fields | usual
        return {key: value for key, value in serialize(self).items() if key not in left_out}

    @property
    def family(self) -> Family:
        """The family of its model."""
        return family(self.model)

    @property
    def contents(self) -> dict[str, str]:
        """What the names in it stand for on this machine, as digests; empty where it is not here.

        Raises `InvalidInput` for a dataset that does not exist.
        """
        new = {"new_candidates": new_files.content(self.new_candidates)} if self.new_candidates else {}
        return {"data": data.content(self.dataset), **self.family.contents(self), **new}

    @property
    def key(self) -> str:
        """One text for one problem: the source and what its names stand for. Raises as `contents` does."""
        return canonical_json({"source": self.model_dump(mode="json"), "contents": self.contents})

    @property
    def title(self) -> str:
        """Data and, unless it is softmax regression, the model with what counts of it: `CIFAR-10, convolutional
        network, last layer alone`."""
        return data.title(self.dataset) + ("" if self.model == SOFTMAX else (
            f", {model_title(self.model)}{layers.title(self.selection)}"))

    @property
    def problem_class(self) -> type[Problem]:
        """The class of the problem it builds."""
        return self.family.problem_class

    @property
    def kind(self) -> str:
        """The kind of problem it builds: what estimators choose their route by."""
        return self.problem_class.kind

    def parameters(self) -> int:
        """How many parameters the model has, without drawing or training it. Raises as `build` does."""
        return self.family.parameters(self)

    def build_module(self) -> nn.Module:
        """The network with fresh weights."""
        own = self.family
        assert isinstance(own, NetworkFamily), "asked of networks alone"
        return own.module(self)

    def draw(self) -> tuple[data.Dataset, data.Sample]:
        """The dataset and what is drawn of it, new candidates behind the training examples. Raises `InvalidInput` or
        `MissingData` with what to do."""
        return self._with_new(*self._trained_on())

    def _trained_on(self) -> tuple[data.Dataset, data.Sample]:
        dataset = data.load(self.dataset)
        self.family.check(self, dataset)
        return dataset, data.draw(dataset, n_train=self.n_train, n_test=self.n_test, n_queries=self.n_queries,
                                  n_candidates=None if self.new_candidates else self.n_candidates, seed=self.seed)

    def _with_new(self, dataset: data.Dataset, sample: data.Sample) -> tuple[data.Dataset, data.Sample]:
        new = self._new(dataset, sample)
        if new is None:
            return dataset, sample
        longer = new.behind(dataset, self.new_candidates)
        return longer, sample.with_new(longer, new.names, self.n_candidates if self.new_candidates else None)

    def _new(self, dataset: data.Dataset, sample: data.Sample) -> NewExamples | None:
        """The candidates outside the training set: those of a file, or some tokens of the drawn ones."""
        if self.new_candidates:
            return new_files.stored(self.new_candidates, dataset)
        if not self.partial or dataset.records is None:
            return None
        records = [dataset.records[0][row] for row in sample.train_index[sample.candidates]]
        return of_records(records, dataset, f" ({self.tokens} alone)")

    @property
    def partial(self) -> bool:
        """Whether candidates are scored by some of their tokens."""
        return self.tokens != ALL_TOKENS and "tokens" in self.family.fields

    @property
    def outside(self) -> bool:
        """Whether the candidates are outside the training set."""
        return bool(self.new_candidates) or self.partial

    @property
    def most_candidates(self) -> int | None:
        """How many candidates there are; None for all training examples of all data. Raises as `draw` does."""
        if self.new_candidates and not self.n_candidates:
            return len(new_files.stored(self.new_candidates, data.load(self.dataset)).labels)
        return self.n_candidates or self.n_train

    def example_bytes(self) -> int:
        """What the drawn training examples and queries take in float64, in which `build` makes inputs of them.

        Raises as `build` does.
        """
        dataset, sample = self.draw()
        return 8 * dataset.n_features // self.pool**2 * (len(sample.train_index) + len(sample.query_index))

    def build(self, device: str = "cpu", check: Callable[[], None] = lambda: None,
              progress: Callable[[float], None] = lambda fraction: None) -> SampledProblem:
        """Load, draw, wrap, and train a network. Raises `InvalidInput` or `MissingData` with what to do."""
        dataset, sample = self._trained_on()
        problem = self.family.build(self, dataset, sample, str(pick_device(device)), Observer(check, progress))
        if (new := self._new(dataset, sample)) is not None:
            problem = self.family.with_new(self, dataset, problem, new)
            dataset, sample = self._with_new(dataset, sample)
            problem = problem.with_candidates(sample.candidates)
        return SampledProblem(self, problem, dataset, sample)

    @property
    def training_recipe(self) -> TrainingRecipe | None:
        """How the model is trained; None where it is at its one optimum anyway."""
        return self.family.recipe(self)

    @property
    def no_training(self) -> str:
        """Why the model cannot be trained anew, as a sentence; empty where it can."""
        return self.family.no_training(self)

    @property
    def stored_checkpoints(self) -> int | None:
        """How many checkpoints a trajectory can visit; None where it makes its own, or where only a recording says."""
        return self.family.stored_checkpoints(self)

    @property
    def is_trained(self) -> bool:
        """Whether `build` takes a moment only; softmax regression always does, next to a network."""
        return self.family.is_trained(self)

    @property
    def identity(self) -> dict[str, Any]:
        """What determines the weights."""
        return self.family.identity(self)


@dataclass(frozen=True, eq=False)
class SampledProblem:
    """A problem with its dataset (for pictures and class names) and its draw."""

    source: ProblemSource
    problem: Problem
    dataset: data.Dataset
    sample: data.Sample

    @property
    def x_test(self) -> np.ndarray:
        """All test examples as the model takes them (t, …), made anew at each access."""
        return self.source.family.test_inputs(self.source, self.dataset, self.sample, self.problem)

    def new_candidates(self, path: Path) -> tuple[Problem, Sequence[str]]:
        """(the problem with the examples of a file or folder as its candidates, what they are called).

        Raises `MissingData` and `InvalidInput` as `engine.data.new_files.of_file` does."""
        new = new_files.of_file(path, self._trained_data())
        return self.source.family.with_new(self.source, self.dataset, self.problem, new), new.names

    def new_parts(self, path: Path, size: int) -> Iterator[Part[Problem]]:
        """The same, so many of the examples at a time: records are read as they are scored."""
        return self.source.family.new_parts(self.source, self._trained_data(), self.problem, path, size)

    def _trained_data(self) -> data.Dataset:
        if self.source.outside:
            raise InvalidInput("The problem already specifies candidates outside the training set; leave out one of "
                               "the two.")
        return self.dataset

    @property
    def new_names(self) -> tuple[str, ...]:
        """What the candidates outside the training set are called."""
        return self.sample.new[:len(self.problem.candidates)]

    def test_accuracy(self) -> float | None:
        """The share of test examples classified correctly; None where they have targets."""
        if self.dataset.targets is not None:
            return None
        return self.problem.accuracy(self.x_test, self.sample.y_test)


def problem_class(model: str) -> type[Problem]:
    """The class of the problems of a model, given by the name that sources know it under."""
    return family(model).problem_class


_LATEST: Latest[tuple[SampledProblem, set[str]]] = Latest()


def build_cached(source: ProblemSource, device: str = "cpu", **watch: Callable) -> SampledProblem:
    """`source.build(device, **watch)`, kept until another is asked for: the chunks of a run follow each other."""
    def built() -> tuple[SampledProblem, set[str]]:
        with noting() as notes:
            return source.build(device, **watch), notes

    sampled, notes = _LATEST.get((source.key, device), built)
    note(*notes)  # every run that uses it has to say how it was trained
    return sampled
