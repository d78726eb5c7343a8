r"""From a task and a model to features: encode, fine-tune, and cache gradients; each part is kept and reused.

    HOME/language/runs/DIGEST/         checkpoints of a training
    HOME/language/gradients/DIGEST/    projected gradients of records or queries at one checkpoint, or hidden states
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from engine.applications.language import gradients, ranges
from engine.applications.language.cache import Cache, check_finite, opened
from engine.applications.language.columns import point_of, with_updates
from engine.applications.language.projection import TOGETHER, Adam, Maps, Projection, projected_rows
from engine.applications.language.ranges import Ranges
from engine.basics import heap
from engine.basics.errors import InvalidInput
from engine.basics.values import Sparse
from engine.data import tasks
from engine.data.records import Record, fingerprint
from engine.gradients.cached import CachedFeatures
from engine.models.causal import finetune, loading, lora, marked, passes, stored_trainings
from engine.models.causal.checked import check_reading
from engine.models.causal.encoding import Batch, Encoded, Encoder
from engine.models.causal.finetune import FineTuneCheckpoint
from engine.models.causal.learning import LearningReader
from engine.models.causal.marked import MARKED, Mark
from engine.models.causal.packed import Packing
from engine.models.causal.reader import response_loss
from engine.models.causal.readouts import READOUTS, Logits
from engine.models.causal.recipe import FineTuning
from engine.models.layers import chosen
from engine.models.precision import PassPrecision, passes_of_matrices
from engine.models.training import Training
from engine.store.results import digest_of, home

LAYERS = (0.25, 0.5, 0.75, 1.0)
"""Where hidden states are kept for RepSim besides the setting's own layer, as fractions of the depth."""
Check = Callable[[], None]
Progress = Callable[[float], None]


class Setting(Sparse):
    """What determines an attribution, besides the seed of the training.

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


class Attribution:
    """One training of one model on one task, and everything that is computed of it."""

    def __init__(self, setting: Setting, seed: int, device: str = "cpu", *, keep: Sequence[int] | None = None) -> None:
        """keep: the rows of the training records that are trained on (default: all). tried: what `width.choose` tried
        before the projection was taken."""
        self.setting, self.seed, self.device = setting, seed, device
        self.keep = None if keep is None else sorted(int(row) for row in keep)
        self.tried: Mapping[int, float] = {}

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
        and that is faster on the processor."""
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

    @property
    def losses(self) -> dict[str, Callable[[Logits, Batch], Tensor]]:
        """What is differentiated of a training record, by the name of its gradients."""
        return {"gradient": marked.loss(self.setting.tokens)}

    @cached_property
    def unmarked(self) -> int:
        """How many training records have no token that is scored. Raises `InvalidInput` where none has one."""
        without = sum(not marked.bears(item, self.setting.tokens) for item in self.encoded)
        if without == len(self.encoded):
            raise InvalidInput(f"No training record has an {self.setting.tokens} to score; mark it in the records by "
                               "`spans`, or score the tokens of the whole `response`.")
        return without

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

    def opened_records(self, point: FineTuneCheckpoint, rows: Sequence[int] | None = None,
                       new: Sequence[Record] = ()) -> Cache:
        """The cache that `record_cache` fills, as far as it is filled."""
        projection = self.projection
        width = projection.width(list(self.sizes.values()))
        shard = {} if rows is None else {"shard": fingerprint(self.train_records[row] for row in rows)}
        part = f"new {fingerprint(new)}" if new else "records"
        return self.open_cache({"part": part, "step": point.step, **shard, **self._projection},
                           len(new or (self.encoded if rows is None else rows)),
                           {**projection.columns("gradient", width),
                            **({} if projection.whole else projection.columns("conditioned", width)),
                            "norm": (), "loss": ()})

    def record_cache(self, point: FineTuneCheckpoint, check: Check = lambda: None,
                     progress: Progress = lambda fraction: None, rows: Sequence[int] | None = None,
                     new: Sequence[Record] = ()) -> Cache:
        """Training gradients at a checkpoint with their lengths and losses, and if projected conditioned ones. rows: a
        shard of the training records, kept by itself (default: all). new: other records in their place. progress:
        called with the fraction of the records that are done, first with that of the records that were there before."""
        maps, cache = Maps(self.projection, self.sizes), self.opened_records(point, rows, new)
        encoded = self._encoded(new) if rows is None else [self.encoded[row] for row in rows]

        @lru_cache(maxsize=1)
        def adam() -> Adam:
            """Read with the first batch, so not where none is left to compute."""
            return Adam(*point.moments(), point.step)

        def rows_of(tap, batch, _rows: Sequence[int]) -> dict[str, Tensor]:
            values, (columns,) = projected_rows(tap, batch, self.losses, [maps], adam())
            if self.setting.tokens != "response":  # what has no such token makes no step
                there = MARKED[self.setting.tokens](batch).any(1).float().cpu()[:, None]
                columns = {name: value if name == "norm" else value * there for name, value in columns.items()}
            return {**columns, "loss": values[:, 0].float().cpu()}

        return self.fill(cache, point, encoded, rows_of, check, progress)

    def query_cache(self, point: FineTuneCheckpoint, records: Sequence[Record], check: Check = lambda: None,
                    progress: Progress = lambda fraction: None) -> Cache:
        """Projected gradients of every behavior of queries at a checkpoint, with its values. progress: as for
        `record_cache`."""
        encoded = [self.encoder.encode(record) for record in records]
        flags = ranges.flagged(self.encoder, self.setting.ranges, records)
        names, sizes, projection = [*self.behaviors(encoded), *flags], self.sizes, self.projection
        width = projection.width(list(sizes.values()))
        cache = self.open_cache({"part": fingerprint(records), "step": point.step, **self._projection}, len(records),
                            {column: shape for name in names for column, shape in projection.columns(
                                name, width).items()} | {"value": (len(names),)})
        maps, plain = Maps(projection, sizes), {name: READOUTS[name].read for name in names if name not in flags}

        def rows_of(tap, batch, rows: Sequence[int]) -> dict[str, Tensor]:
            read = plain | ranges.readers(flags, rows, batch)
            values, (columns,) = projected_rows(tap, batch, read, [maps])
            return {**columns, "value": values.float().cpu()}

        return self.fill(cache, point, encoded, rows_of, check, progress)

    def states(self, records: Sequence[Record] | None = None, check: Check = lambda: None,
               progress: Progress = lambda depth: None) -> Cache:
        """Hidden states where the prompt ends, at the end of the training: one array a layer, named by its share of the
        depth. Of the training records by default. progress: as for `record_cache`."""
        encoded = self.encoded if records is None else [self.encoder.encode(record) for record in records]
        cache = self.open_cache({"part": f"states {fingerprint(records)}" if records is not None else "states",
                             "step": self.points[-1].step}, len(encoded),
                            {f"{depth:g}": (self.width,) for depth in self.layers})

        @torch.no_grad()
        def rows_of(_tap, batch, _rows: Sequence[int]) -> dict[str, np.ndarray]:
            states = passes.hidden_states(self.model, batch)
            return {f"{depth:g}": self._prompt_state(states[self.layer_index(depth)], batch) for depth in self.layers}

        return self.fill(cache, self.points[-1], encoded, rows_of, check, progress)

    def features(self, records: Sequence[Record], new: Sequence[Record] = (), check: Check = lambda: None
                 ) -> CachedFeatures:
        """What estimators read, for a set of queries; caches that are there are only opened. new: records that were not
        trained on, in place of those that were."""
        cached = [self.record_cache(point, check, new=new) for point in self.points]
        queried = [self.query_cache(point, records) for point in self.points]
        moving = np.array([marked.bears(item, self.setting.tokens) for item in self._encoded(new)])
        columns = [with_updates(own, point, self.sizes, moving) if self.projection.whole else own
                   for own, point in zip(cached, self.points, strict=True)]
        names = [name for name in (*READOUTS, *self.setting.ranges) if name in queried[-1].columns]
        draws = [tuple(point_of(point.weight, own, queries_of, names, draw) for point, own, queries_of in zip(
            self.points, columns, queried, strict=True)) for draw in range(len(self.projection.draws))]
        last, own, query_states = cached[-1], self.states(new or None, check), self.states(records)
        return CachedFeatures(draws[0], last["norm"], last["loss"], {depth: own[f"{depth:g}"] for depth in self.layers},
                              {depth: query_states[f"{depth:g}"] for depth in self.layers}, self.setting.layer,
                              self.seed, self.setting.ridge, draws[1] if draws[1:] else ())

    def _encoded(self, new: Sequence[Record]) -> list[Encoded]:
        """New records, or where there are none those that were trained on."""
        return [self.encoder.encode(record) for record in new] if new else self.encoded

    @property
    def layers(self) -> list[float]:
        """Where hidden states are kept."""
        return sorted({*LAYERS, self.setting.layer})

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many numbers each adapter parameter that is scored has, by name. Raises `InvalidInput` for layers that
        the model has not."""
        trained = lora.trained(self.model)
        patterns = self.setting.modules
        names = chosen(patterns, {lora.plain(name): name for name in trained}) if patterns else trained
        return {name: trained[name].numel() for name in names}

    @cached_property
    def projection(self) -> Projection:
        """How gradients are kept: as wide as its budget allows, until `width.choose` has found a narrower one."""
        return self.widest

    @cached_property
    def widest(self) -> Projection:
        """How gradients would be kept as the setting says, and as wide as its budget allows."""
        return self.setting.projection.fitted(sum(self.sizes.values()), len(self.train_records),
                                              self.setting.recipe.checkpoints)

    def numbers(self, tokens: int) -> int:
        """What a record of so many tokens takes at once: its logits, or what waits of its gradient to be projected."""
        whole = sum(self.sizes.values())
        waiting = whole if self.widest.whole else min(whole, TOGETHER[torch.device(self.device).type])
        return max(tokens * loading.vocabulary(self.model), waiting)

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

    @staticmethod
    def _prompt_state(state: torch.Tensor, batch) -> np.ndarray:
        """Representation where the prompt ends, (b, d), of one layer's (b, T, d)."""
        rows = torch.arange(len(batch), device=state.device)
        return state[rows, batch.prompt_end.to(state.device)].float().cpu().numpy()

    @property
    def scope(self) -> dict[str, Any]:
        """Of modules and tokens, what is not all of them, for an identity."""
        written = self.setting.model_dump(mode="json")
        return {name: written[name] for name in ("modules", "tokens") if name in written}

    @property
    def _projection(self) -> dict[str, Any]:
        return {"projection": self.projection.model_dump(mode="json"), **self.scope}

    def open_cache(self, content: Mapping[str, Any], rows: int, columns: Mapping[str, Sequence[int]]) -> Cache:
        identity = {"run": self.digest, "device": self.where, **content}
        folder = home() / "language" / "gradients" / digest_of({**identity, "columns": sorted(columns)})[:32]
        return opened(folder, identity, rows, columns)

    def fill(self, cache: Cache, point: FineTuneCheckpoint, encoded: Sequence[Encoded], rows_of, check: Check,
              progress: Progress) -> Cache:
        if cache.sealed:
            progress(1.0)
            return cache
        self.load(point)
        missing = cache.missing
        done = len(encoded) - len(missing)
        progress(done / len(encoded))
        heap.trim()  # what the training left
        trim = heap.trimmer()
        with gradients.tapped(self.model, self.sizes) as tap:
            for rows, batch in passes.batched(self.model, self.encoder, encoded, self.setting.recipe.batch, missing,
                                              check, self.numbers):
                columns = {name: np.asarray(value) for name, value in rows_of(tap, batch, rows).items()}
                check_finite(columns.items(), point.step)
                cache.put(rows, columns)
                trim()
                done += len(rows)
                progress(done / len(encoded))
        cache.seal()
        return cache
