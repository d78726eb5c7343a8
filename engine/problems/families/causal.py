"""Causal language models, fine-tuned on records: all their parameters, or adapters of low rank."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import nn

from engine import data
from engine.basics.errors import InvalidInput
from engine.data import Dataset, Sample
from engine.data.records import Record
from engine.models.causal import loading, lora
from engine.models.causal.catalogue import is_embedded
from engine.models.causal.encoding import Encoder
from engine.models.causal.packed import Packing
from engine.models.causal.reader import TokenReader, response_loss
from engine.models.causal.recipe import FineTuning
from engine.models.causal.row_texts import RowTexts
from engine.models.network import ALL
from engine.problems.causal import CausalProblem
from engine.problems.families.asked import Asked
from engine.problems.families.family import NUMERICS, Family, Watch
from engine.problems.problem import Problem
from engine.problems.trained import trained

EMBEDDED_RECIPE = FineTuning(epochs=4, learning_rate=5e-3, context=256)
RECIPE = FineTuning(epochs=2, learning_rate=5e-4, context=512, checkpoints=2)


class CausalFamily(Family):
    """Models by the names of `engine.models.causal.loading`. Draws are of a dataset of records."""

    problem_class = CausalProblem
    kept = frozenset({"model", "selection", "recipe"})
    records = True

    def recipe(self, source: Asked) -> FineTuning:
        recipe = source.recipe or (EMBEDDED_RECIPE if is_embedded(source.model) else RECIPE)
        if not isinstance(recipe, FineTuning):
            raise InvalidInput(f"`{source.model}` is a language model, which a recipe fine-tunes: give `rank`, "
                               "`epochs`, `batch` and `learning_rate`, without `batch_size` and `momentum`.")
        return recipe

    def parameters(self, source: Asked) -> int:
        recipe = self.recipe(source)
        return _count(source.model, loading.identity(source.model)["files"], recipe)

    def contents(self, source: Asked) -> dict[str, str]:
        return {"model": loading.identity(source.model)["files"]}

    def identity(self, source: Asked) -> dict[str, Any]:
        given = {name: getattr(source, name) for name in ("dataset", "n_train", "model", "seed")}
        return {**given, "content": data.content(source.dataset), "numerics": NUMERICS, **self.contents(source),
                "recipe": self.recipe(source).model_dump(mode="json")}

    def build(self, source: Asked, dataset: Dataset, sample: Sample, device: str, watch: Watch
              ) -> tuple[Problem, np.ndarray]:
        recipe = self.recipe(source)
        model, tokenizer = _base(source.model, loading.identity(source.model)["files"])
        encoder = Encoder(tokenizer, recipe.context)
        records = [[own[row] for row in rows] for own, rows in _drawn(dataset, sample)]
        encoded = [[encoder.encode(record) for record in part] for part in records]
        packing = Packing.of([item for part in encoded for item in part])
        x_train, x_test = (packing.pack(encoder, part) for part in encoded)
        texts = RowTexts(encoder, torch.cat([x_train, x_test]), [*records[0], *records[1]])
        build = _builder(model, recipe, packing)
        network = trained(self.identity(source), build, x_train.numpy(), np.zeros(len(x_train), np.int64), recipe,
                          source.seed, loss=response_loss, device=device, check=watch.check, progress=watch.progress)
        selection = recipe.selection if source.selection == ALL else source.selection
        problem = CausalProblem(network.module, x_train, None, x_test[:len(sample.query_index)], None,
                                sample.candidates, parameters=selection, recipe=recipe, build=build, seed=source.seed,
                                device=device, texts=texts)
        problem.keep_checkpoints(network.checkpoints)
        return problem, x_test.numpy()


def _drawn(dataset: Dataset, sample: Sample) -> Iterator[tuple[Sequence[Record], np.ndarray]]:
    """(records, rows) of both splits."""
    assert dataset.records is not None, "the family is checked before"
    return zip(dataset.records, (sample.train_index, sample.test_index), strict=True)


def _builder(model: nn.Module, recipe: FineTuning, packing: Packing) -> Callable[[], nn.Module]:
    """() -> the model with fresh adapters, drawn from torch's own generator, or a copy of it where it has none."""
    def build() -> nn.Module:
        own = copy.deepcopy(model)
        module = TokenReader(lora.attach(own, recipe) if recipe.rank else own, packing)
        recipe.free(module)
        return module

    return build


@lru_cache(maxsize=1)
def _base(name: str, files: str) -> tuple[nn.Module, Any]:
    """The last model, in float32, with its tokenizer, while its files are what they were."""
    model, tokenizer = loading.load(name)
    return model, tokenizer


@lru_cache(maxsize=32)
def _count(name: str, files: str, recipe: FineTuning) -> int:
    module = _builder(_base(name, files)[0], recipe, Packing(1, 1, 1))()
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
