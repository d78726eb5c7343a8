"""Causal language models, fine-tuned on records: all their parameters, or adapters of low rank."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from engine import data
from engine.basics.errors import InvalidInput
from engine.data import Dataset, Sample, uploads
from engine.data.new_examples import NewExamples
from engine.data.records import Record, fingerprint, stream_jsonl
from engine.models.causal import finetune, loading, lora, stored_trainings
from engine.models.causal.catalogue import is_embedded
from engine.models.causal.checked import check_reading
from engine.models.causal.encoding import Encoder
from engine.models.causal.learning import LearningReader
from engine.models.causal.packed import Packing
from engine.models.causal.reader import response_loss
from engine.models.causal.recipe import FineTuning
from engine.models.causal.row_texts import RowTexts
from engine.models.network import ALL, free_names, selected
from engine.models.pauses import State
from engine.models.recorded import Recording
from engine.models.recorded import stored_recordings as recordings
from engine.models.recorded.examples import of_tokens
from engine.models.recorded.folder import RecordingFacts
from engine.models.recorded.opened import opened
from engine.models.recorded.recipe import SEED
from engine.models.training import Training
from engine.problems.candidates import Part
from engine.problems.causal import CausalProblem
from engine.problems.families.family import Family, Observer
from engine.problems.families.fields import SourceFields
from engine.problems.problem import Problem
from engine.store.sealed import digest_of

EMBEDDED_RECIPE = FineTuning(epochs=4, learning_rate=5e-3, context=256)
READER = "model."
"""What a reader of records puts before the names of its model's parameters."""
PRECISE = "cpu"
"""The kind of device whose precision a problem has wherever it is trained: float32."""
AS_IT_IS = FineTuning(epochs=0, context=512)
"""What is asked of a model that is adapted already."""
RECIPE = FineTuning(epochs=2, learning_rate=5e-4, context=512, checkpoints=2)


class CausalFamily(Family):
    """Models by the names of `engine.models.causal.loading`. Draws are of a dataset of records."""

    problem_class = CausalProblem
    fields = frozenset({"model", "selection", "recipe", "weights", "tokens"})
    records = True

    def check(self, source: SourceFields, dataset: Dataset) -> None:
        super().check(source, dataset)
        loading.check(source.model, recipe=None if source.weights else self.recipe(source))

    def recipe(self, source: SourceFields) -> FineTuning:
        """The source's own; of a recorded training what its adapters are."""
        if source.weights:
            return _recorded_recipe(recordings.facts(source.weights))
        adapters = bool(loading.find(source.model).base)
        recipe = source.recipe or (AS_IT_IS if adapters else EMBEDDED_RECIPE if is_embedded(source.model) else RECIPE)
        if not isinstance(recipe, FineTuning):
            raise InvalidInput(f"`{source.model}` is a language model, which a recipe fine-tunes: give `rank`, "
                               "`epochs`, `batch` and `learning_rate`, without `batch_size` and `momentum`.")
        lora.check_untrained(source.model, adapters, recipe)
        return recipe

    def no_training(self, source: SourceFields) -> str:
        if source.weights or self.recipe(source).epochs:
            return ""
        return ("This model was not trained here, so it cannot be retrained; give a "
                "recipe with `epochs`, or choose another model.")

    def stored_checkpoints(self, source: SourceFields) -> int | None:
        recipe = self.recipe(source)
        return None if source.weights else recipe.checkpoints if recipe.epochs else 0

    def parameters(self, source: SourceFields) -> int:
        recipe = self.recipe(source)
        return _count(source.model, loading.identity(source.model)["files"], recipe, source.selection)

    def contents(self, source: SourceFields) -> dict[str, str]:
        """Its files, and the version of the training: results of another one are not those of this."""
        weights = {"weights": recordings.content(source.weights)} if source.weights else {}
        return {"model": loading.identity(source.model)["files"], "training rules": str(finetune.NUMERICS), **weights}

    def identity(self, source: SourceFields) -> dict[str, Any]:
        """As a study has it that trains a model on the same records: see `engine.models.causal.finetune`."""
        return finetune.identity(loading.identity(source.model), self._records(source)[0], self.recipe(source),
                                 source.seed, PRECISE)

    def is_trained(self, source: SourceFields) -> bool:
        if source.weights or not self.recipe(source).epochs:
            return True
        folder = finetune.folder_of(digest_of(self.identity(source)))
        return bool(finetune.finished(folder, self.recipe(source), self._records(source)[1]))

    def _records(self, source: SourceFields) -> tuple[str, int]:
        """(fingerprint, number) of the records that are trained on."""
        self.check(source, data.load(source.dataset))
        return _fingerprint(source.dataset, data.content(source.dataset), source.n_train, source.seed)

    def build(self, source: SourceFields, dataset: Dataset, sample: Sample, device: str, watch: Observer) -> Problem:
        recipe = self.recipe(source)
        model, tokenizer = _base(source.model, loading.identity(source.model)["files"])
        encoder = Encoder(tokenizer, recipe.context, loading.vocabulary(model))
        records = [[own[row] for row in rows] for own, rows in _splits(dataset, sample)]
        encoded = [[encoder.encode(record) for record in split] for split in records]
        packing = Packing.of([item for split in encoded for item in split])
        x_train, x_test = (packing.pack(encoder, split) for split in encoded)
        texts = RowTexts(encoder, torch.cat([x_train, x_test]), [*records[0], *records[1]])
        adapters = recordings.facts(source.weights).adapters if source.weights else None
        build = _builder(model, recipe, packing, adapters.options if adapters else None)

        def problem(module: LearningReader, **how: Any) -> CausalProblem:
            check_reading(module, x_train, encoded[0])
            usual = free_names(module) if lora.is_adapted(model) else how.get("recipe", recipe).selection
            chosen = usual if source.selection == ALL else lora.selection(module, source.selection)
            return CausalProblem(module, x_train, None, x_test[:len(sample.query_index)], None, sample.candidates,
                                 parameters=chosen, device=device, texts=texts, **how)

        if source.weights:
            return _of_recording(recordings.load(source.weights), build, packing, x_train, problem)
        module = build()
        if not recipe.epochs:
            return problem(module)
        lora.selection(module, source.selection)  # refuses, before any training, a selection of nothing
        states = self._trained(source, Training(
            build, x_train.to(device), torch.zeros(len(x_train), dtype=torch.long, device=device), recipe, source.seed,
            loss=response_loss, dtype=torch.float32),
            [name for name, parameter in module.named_parameters() if parameter.requires_grad], watch)
        module.load_state_dict({name: value for name, value in states[-1][0].items() if "|" not in name}, strict=False)
        built = problem(module, recipe=recipe, build=build, seed=source.seed)
        built.keep_checkpoints(states)
        return built

    def with_new(self, source: SourceFields, dataset: Dataset, problem: Problem, new: NewExamples) -> Problem:
        assert isinstance(problem, CausalProblem), "as `build` made it"
        return problem.with_records(new.records, tokens=source.tokens)

    def new_parts(self, source: SourceFields, dataset: Dataset, problem: Problem, path: Path, size: int
                  ) -> Iterator[Part[Problem]]:
        """Read as they are scored."""
        assert isinstance(problem, CausalProblem), "as `build` made it"
        turns = uploads.reading(dataset.name).turns if uploads.is_upload(dataset.name) else "last"
        yield from problem.with_each(stream_jsonl(path, size, turns))

    def test_inputs(self, source: SourceFields, dataset: Dataset, sample: Sample, problem: Problem) -> np.ndarray:
        assert isinstance(problem, CausalProblem) and problem.texts is not None, "as `build` made it"
        return problem.texts.rows[problem.n:problem.n + len(sample.test_index)].numpy()

    def _trained(self, source: SourceFields, training: Training, names: Sequence[str], watch: Observer
                 ) -> list[tuple[State, float]]:
        """The checkpoints, kept where studies find them; nobody removes them meanwhile."""
        identity = self.identity(source)
        digest = digest_of(identity)
        with stored_trainings.Hold(digest):
            stored_trainings.describe(digest, {
                "task": data.title(source.dataset), "model": source.model, "seed": source.seed,
                "records": len(training.y), "part": False, "identity": identity})
            points = finetune.finetune(training, self.recipe(source), finetune.folder_of(digest), check=watch.check,
                                       progress=watch.progress)
            return finetune.states_of(points, names)


def _recorded_recipe(facts: RecordingFacts) -> FineTuning:
    """What a recording says of the model's adapters. Raises `InvalidInput` for adapters that are unlike those here."""
    adapters = facts.adapters
    if adapters is None:
        return RECIPE.model_copy(update={"rank": 0})
    if adapters.unlike:
        raise InvalidInput(f"The adapters of this recording have unsupported features ({adapters.unlike}); "
                           "train plain LoRA adapters.")
    return RECIPE.model_copy(update={"rank": adapters.rank, "scaling": adapters.scaling, "targets": adapters.targets})


def _of_recording(run: Recording, build: Callable[[], nn.Module], packing: Packing, x: torch.Tensor,
                  problem: Callable[..., CausalProblem]) -> CausalProblem:
    """The problem of a recorded training for packed records x: where it ended, with its checkpoints and moments."""
    batch = packing.unpack(x)
    learned = torch.zeros_like(batch.ids)
    learned[:, packing.tokens - packing.tail:] = batch.response.long()
    ended = opened(run.within(READER), build, of_tokens(batch.ids, batch.mask, learned))
    result = problem(ended.module, recipe=ended.recipe, build=ended.build, seed=SEED, l2=ended.recipe.penalty)
    result.keep_checkpoints(ended.checkpoints)
    return result


def _splits(dataset: Dataset, sample: Sample) -> Iterator[tuple[Sequence[Record], np.ndarray]]:
    """(records, rows) of both splits."""
    assert dataset.records is not None, "the family is checked before"
    return zip(dataset.records, (sample.train_index, sample.test_index), strict=True)


def _builder(model: nn.Module, recipe: FineTuning, packing: Packing, options: Mapping[str, Any] | None = None
             ) -> Callable[[], LearningReader]:
    """() -> the model with fresh adapters, drawn as the seed of torch's own generator says, or a copy of it where it
    is to have none, or has its own. options: as `lora.attach` has them."""
    def build() -> LearningReader:
        own = copy.deepcopy(model)
        if lora.is_adapted(own):
            return LearningReader(own, packing)
        module = LearningReader(lora.attach(own, recipe, options) if recipe.rank else own, packing)
        lora.renew(module.model, torch.initial_seed())
        recipe.free(module)
        return module

    return build


@lru_cache(maxsize=32)
def _fingerprint(dataset: str, content: str, n_train: int | None, seed: int) -> tuple[str, int]:
    """(fingerprint, number) of the records that a draw trains on, while the dataset is what it was."""
    dataset_loaded = data.load(dataset)
    records, rows = next(_splits(dataset_loaded, data.draw(dataset_loaded, n_train=n_train, seed=seed)))
    return fingerprint(records[row] for row in rows), len(rows)


@lru_cache(maxsize=1)
def _base(name: str, files: str) -> tuple[nn.Module, Any]:
    """The last model, in float32, with its tokenizer, while its files are what they were."""
    model, tokenizer = loading.load(name)
    return model, tokenizer


@lru_cache(maxsize=32)
def _count(name: str, files: str, recipe: FineTuning, selection: str) -> int:
    module = _builder(_base(name, files)[0], recipe, Packing(1, 1, 1))()
    named = dict(module.named_parameters())
    return sum(named[name].numel() for name in selected(module, lora.selection(module, selection)))
