"""Networks on arrays and pictures, trained by a recipe or with a user's own weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from torch import nn

from engine import data
from engine.basics.errors import InvalidInput
from engine.data import Dataset, Sample
from engine.models import own_weights
from engine.models.catalogue import OWNED, build_model
from engine.models.losses import Loss, per_example_cross_entropy
from engine.models.network import selected
from engine.models.recipe import PAPER_CNN, Recipe, TrainingRecipe
from engine.models.recorded import Recording, stored_recordings
from engine.models.recorded.examples import matching
from engine.models.recorded.opened import opened
from engine.models.recorded.recipe import SEED
from engine.problems.families.family import NUMERICS, Family, Observer
from engine.problems.families.fields import SourceFields
from engine.problems.families.inputs import as_inputs, colours_stay, input_shape, pooled
from engine.problems.module import ModuleProblem
from engine.problems.problem import Problem
from engine.problems.trained import trained

NETWORK_RECIPE = PAPER_CNN.model_copy(update={"checkpoints": 5})


class NetworkFamily(Family):
    """Networks by the names of `engine.models.catalogue`, trained with l2 as weight decay and the seed of the draw."""

    problem_class: ClassVar[type[ModuleProblem]] = ModuleProblem
    fields = frozenset({"pool", "l2", "intercept", "model", "selection", "recipe", "weights"})

    def loss(self, source: SourceFields, dataset: Dataset) -> Loss:
        """Per example, of logits and labels."""
        return per_example_cross_entropy

    def module(self, source: SourceFields) -> nn.Module:
        """The network with fresh weights."""
        dataset = data.load(source.dataset)
        self.check(source, dataset)
        return build_model(source.model, input_shape(source.model, dataset, source.pool), dataset.n_outputs)

    def parameters(self, source: SourceFields) -> int:
        module = self.module(source)
        named = dict(module.named_parameters())
        return sum(named[name].numel() for name in selected(module, source.selection))

    def recipe(self, source: SourceFields) -> Recipe:
        """The source's recipe with its l2 as weight decay, which AdamW takes out of the objective."""
        recipe = source.recipe or NETWORK_RECIPE
        if not isinstance(recipe, Recipe):
            raise InvalidInput(f"The recipe fine-tunes a language model, and `{source.model}` is none; give one with "
                               "`epochs`, `batch_size` and `learning_rate`.")
        return recipe.model_copy(update={"weight_decay": source.l2})

    def no_training(self, source: SourceFields) -> str:
        if not source.weights or source.recipe or stored_recordings.is_recording(source.weights):
            return ""
        return ("It is unknown how these weights were trained, so the model cannot be retrained; give the recipe with "
                "the checkpoint, or train the model here.")

    def stored_checkpoints(self, source: SourceFields) -> int | None:
        if source.weights:
            return None if stored_recordings.is_recording(source.weights) else 0
        return self.recipe(source).checkpoints

    def contents(self, source: SourceFields) -> dict[str, str]:
        own = {"model": self._code(source)} if source.model in OWNED else {}
        return {**own, **self._weights(source)}

    def _code(self, source: SourceFields) -> str:
        """What tells the user's own architecture apart, with the order of colours that flat inputs are read in."""
        own = OWNED[source.model]
        stay = len(own.shape) != 1 or colours_stay(data.load(source.dataset))
        return own.code if stay else f"{own.code} channels first"

    def _weights(self, source: SourceFields) -> dict[str, str]:
        if not source.weights:
            return {}
        if stored_recordings.is_recording(source.weights):
            return {"weights": stored_recordings.content(source.weights), "l2": "the recorded weight decay"}
        return {"weights": own_weights.content(source.weights)}

    def is_trained(self, source: SourceFields) -> bool:
        return bool(source.weights) or super().is_trained(source)

    def identity(self, source: SourceFields) -> dict[str, Any]:
        given = {name: getattr(source, name) for name in ("dataset", "n_train", "pool", "model", "seed")}
        if source.model in OWNED:
            given["code"] = self._code(source)
        return {**given, "content": data.content(source.dataset), "numerics": NUMERICS,
                "recipe": self.recipe(source).model_dump(mode="json")}

    def build(self, source: SourceFields, dataset: Dataset, sample: Sample, device: str, watch: Observer) -> Problem:
        self.parameters(source)  # refuses, before any training, a selection of nothing
        shape = input_shape(source.model, dataset, source.pool)
        # features are handed on as they are, and what a precision takes from them is said; pixels are bytes
        wide, queries = (self.inputs(source, dataset, x) for x in (sample.x_train, sample.x_query))
        x_train = wide.astype(np.float32, copy=False)

        decay, loss = self.recipe(source).rule.penalty, self.loss(source, dataset)

        def build() -> nn.Module:
            return build_model(source.model, shape, sample.n_outputs)

        def problem(module: nn.Module, recipe: TrainingRecipe | None, **others: Any) -> ModuleProblem:
            return self.problem_class(module, wide, sample.y_train, queries, sample.y_query, sample.candidates,
                                      parameters=source.selection, recipe=recipe, device=device,
                                      **{"build": build, "seed": source.seed, "l2": decay, "loss": loss, **others})

        if stored_recordings.is_recording(source.weights):
            y = sample.y_train if dataset.targets is None else dataset.targets[sample.y_train]
            return of_recording(stored_recordings.load(source.weights), build, x_train, y, problem)
        recipe = self.recipe(source)
        if source.weights:
            return problem(own_weights.load(source.weights, build()), recipe if source.recipe else None)
        return self._trained(source, problem, build, (x_train, sample.y_train, loss), device, watch)

    def inputs(self, source: SourceFields, dataset: Dataset, x: np.ndarray) -> np.ndarray:
        given = pooled(source, dataset, x)
        flat = len(input_shape(source.model, dataset, source.pool)) == 1 and colours_stay(dataset)
        return given if flat else as_inputs(source.model, dataset, source.pool, given)

    def _trained(self, source: SourceFields, problem: Callable[[nn.Module, Recipe], ModuleProblem],
                 build: Callable[[], nn.Module], training: tuple[np.ndarray, np.ndarray, Loss], device: str,
                 watch: Observer) -> ModuleProblem:
        recipe, (x, y, loss) = self.recipe(source), training
        network = trained(self.identity(source), build, x, y, recipe, source.seed, loss=loss, device=device,
                          check=watch.check, progress=watch.progress)
        trained_problem = problem(network.module, recipe)
        trained_problem.keep_checkpoints(network.checkpoints)
        return trained_problem


def of_recording(run: Recording, build: Callable[[], nn.Module], x: np.ndarray, y: np.ndarray,
                 problem: Callable[..., ModuleProblem]) -> ModuleProblem:
    """The problem of a recorded training for training data x (n, …) and y (n,), or targets (n, …): where it ended, with
    its checkpoints, its weight decay as the penalty, and itself as the recipe. problem: (module, recipe, and what else
    a problem is made with) -> the problem."""
    opened_run = opened(run, build, matching(x, y, run.batches.known))
    result = problem(opened_run.module, opened_run.recipe, build=opened_run.build, seed=SEED, dtype=str(run.dtype)[6:],
                     l2=opened_run.recipe.penalty)
    result.keep_checkpoints(opened_run.checkpoints)
    return result
