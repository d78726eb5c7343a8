"""One training of one model on one task: its records encoded, its weights trained, and its checkpoints found again.

    HOME/language/runs/DIGEST/         checkpoints of a training
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import torch

from engine.applications.language.projection import Projection
from engine.applications.language.ranges import Ranges
from engine.basics.values import Sparse
from engine.data import tasks
from engine.data.records import Record, fingerprint
from engine.models.causal import finetune, loading, lora, passes, stored_trainings
from engine.models.causal.checked import check_reading
from engine.models.causal.encoding import Encoded, Encoder
from engine.models.causal.finetune import FineTuneCheckpoint
from engine.models.causal.learning import LearningReader
from engine.models.causal.marked import Mark
from engine.models.causal.packed import Packing
from engine.models.causal.reader import response_loss
from engine.models.causal.readouts import READOUTS
from engine.models.causal.recipe import FineTuning
from engine.models.precision import PassPrecision, passes_of_matrices
from engine.models.training import Training
from engine.store.results import digest_of, home

Check = Callable[[], None]
Progress = Callable[[float], None]


class Setting(Sparse):
    """What determines an attribution, besides the training seed.

    task: the name of a task with its sizes. layer: where RepSim reads, as a share of the model's depth. ridge: TRAK's.
    modules: patterns over the names that transformers gives the adapted layers (`engine.models.layers`), of those whose
    adapters are scored (default: all); all are trained. tokens: those of a training record whose loss is scored.
    ranges: behaviors beside those that every query allows, each of a range of one query's tokens: `tokens@4:2-7`.
    """

    unwritten: ClassVar = ("modules", "tokens", "ranges")
    model: str
    task: dict[str, Any]
    recipe: FineTuning = FineTuning()
    projection: Projection = Projection()
    layer: float = 1.0
    ridge: float = 1e-2
    modules: tuple[str, ...] = ()
    tokens: Mark = "response"
    ranges: Ranges = ()


@lru_cache(maxsize=1)
def _loaded(name: str, device: str, narrow: bool, adapters: tuple, root: Path, files: str):
    """A model with adapters and its tokenizer; the last one stays in memory, while its files are what they were."""
    model, tokenizer = loading.load(name, device, narrow=narrow)
    return model if lora.layers(model) else lora.attach(model, FineTuning(**dict(adapters))), tokenizer


class FineTuned:
    """A training of a model with adapters on a task's records."""

    def __init__(self, setting: Setting, seed: int, device: str = "cpu", *, keep: Sequence[int] | None = None) -> None:
        """keep: the rows of the training records that are trained on (default: all)."""
        self.setting, self.seed, self.device = setting, seed, device
        self.keep = None if keep is None else sorted(int(row) for row in keep)

    @cached_property
    def task(self) -> tasks.Task:
        return tasks.cached_task(self.setting.task)

    @cached_property
    def model(self):
        """The model with adapters; their weights are whatever was put in last."""
        return self._both[0]

    @cached_property
    def encoder(self) -> Encoder:
        model, tokenizer = self._both
        return Encoder(tokenizer, self.setting.recipe.context, loading.vocabulary(model))

    @cached_property
    def _both(self):
        adapters = self.setting.recipe.model_dump(include={"rank", "scaling", "targets", "dropout"})
        return _loaded(self.setting.model, self.device, self.passes.narrow, tuple(sorted(adapters.items())), home(),
                       loading.identity(self.setting.model)["files"])

    @cached_property
    def passes(self) -> PassPrecision:
        """In which precision passes through the model run: on a GPU in bfloat16, on a CPU where the recipe allows it
        and that is faster on the CPU."""
        device = torch.device(self.device)
        return passes_of_matrices(device, torch.float32, mixed=self.setting.recipe.mixed or device.type == "cuda")

    @property
    def where(self) -> str:
        """The kind of device, with the precision of the model where that does not follow."""
        kind = torch.device(self.device).type
        return f"{kind} bfloat16" if kind == "cpu" and self.passes.narrow else kind

    @cached_property
    def train_records(self) -> tuple[Record, ...]:
        """What is trained on."""
        return self.task.train if self.keep is None else tuple(self.task.train[row] for row in self.keep)

    @cached_property
    def encoded(self) -> list[Encoded]:
        return [self.encoder.encode(record) for record in self.train_records]

    def queries(self, name: str) -> list[Encoded]:
        """An encoded set of the task's queries."""
        return [self.encoder.encode(record) for record in self.task.queries[name]]

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What determines the trained weights. Where none were trained on this kind of device, those that a GPU
        trained and that lie here are taken."""
        own = finetune.identity(loading.identity(self.setting.model), fingerprint(self.train_records),
                                self.setting.recipe, self.seed, self.where)
        other = {**own, "device": "cuda"}
        return other if not self._finished(own) and self._finished(other) else own

    @property
    def is_trained(self) -> bool:
        """Whether the training lies on this machine, at its end."""
        return self._finished(self.identity)

    def _finished(self, identity: Mapping[str, Any]) -> bool:
        return bool(finetune.finished(finetune.folder_of(digest_of(identity)), self.setting.recipe,
                                      len(self.train_records)))

    @cached_property
    def digest(self) -> str:
        return digest_of(self.identity)

    @property
    def folder(self) -> Path:
        """Where the checkpoints lie."""
        return finetune.folder_of(self.digest)

    def train(self, check: Check = lambda: None, progress: Progress = lambda fraction: None
              ) -> list[FineTuneCheckpoint]:
        """The checkpoints; a training that was finished, or begun, is not repeated. It is held while this object
        lives, so that nobody removes it. progress: as `finetune.finetune` has it."""
        loading.check(self.setting.model, lora=True, recipe=self.setting.recipe)
        lora.check_untrained(self.setting.model, bool(loading.find(self.setting.model).base), self.setting.recipe)
        self._both  # noqa: B018 - what has to be fetched has no revision, and so no digest, before
        self._hold = stored_trainings.Hold(self.digest)
        stored_trainings.describe(self.digest, {
            "task": self.setting.task.get("name"), "model": self.setting.model, "seed": self.seed,
            "records": len(self.encoded), "part": self.keep is not None, "identity": self.identity})
        points = finetune.finetune(self._training(), self.setting.recipe, self.folder, passes=self.passes.description,
                                   check=check, progress=progress)
        self.setting.recipe.free(self.model)
        return points

    def _training(self) -> Training:
        """Of the model itself, where it is, with adapters drawn anew."""
        packing, device = Packing.of(self.encoded), passes.device_of(self.model)
        rows = packing.pack(self.encoder, self.encoded)
        check_reading(LearningReader(self.model, packing), rows, self.encoded)

        def build() -> LearningReader:
            if not loading.find(self.setting.model).base:
                lora.renew(self.model, torch.initial_seed())
            return LearningReader(self.model, packing)

        return Training(build, rows.to(device),
                        torch.zeros(len(self.encoded), dtype=torch.long, device=device), self.setting.recipe, self.seed,
                        loss=response_loss, dtype=torch.float32, placed=True)

    @cached_property
    def points(self) -> list[FineTuneCheckpoint]:
        return finetune.checkpoints(self.folder, self.setting.recipe, len(self.train_records))

    def load(self, point: FineTuneCheckpoint) -> None:
        """Give the model the weights of a checkpoint."""
        lora.put(self.model, point.weights)

    def behaviors(self, encoded: Sequence[Encoded]) -> list[str]:
        """The behaviors that every one of the encoded records allows."""
        return [name for name, behavior in READOUTS.items() if not any(map(behavior.lack, encoded))]

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.model.config.get_text_config().num_hidden_layers

    @property
    def width(self) -> int:
        """Size of a representation."""
        return self.model.config.get_text_config().hidden_size

    def layer_index(self, fraction: float) -> int:
        """The index into hidden states of a fraction of the depth; 0 would be the embeddings."""
        return max(1, round(fraction * self.depth))
