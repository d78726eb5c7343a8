r"""What estimators read of a training: gradients and hidden states of records and queries, cached and found again.

    HOME/language/gradients/DIGEST/    projected gradients of records or queries at one checkpoint, or hidden states
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.applications.language import gradients, ranges
from engine.applications.language.cache import Cache, check_finite, opened
from engine.applications.language.columns import point_of, with_updates
from engine.applications.language.fine_tuned import Check, FineTuned, Progress
from engine.applications.language.gradients import Tap
from engine.applications.language.projection import TOGETHER, Adam, Maps, Projection, projected_rows
from engine.basics import heap
from engine.basics.errors import InvalidInput
from engine.data.records import Record, fingerprint
from engine.gradients.cached import CachedFeatures
from engine.models.causal import loading, lora, marked, passes
from engine.models.causal.encoding import Batch, Encoded
from engine.models.causal.finetune import FineTuneCheckpoint
from engine.models.causal.marked import MARKED
from engine.models.causal.readouts import READOUTS, Logits
from engine.models.layers import chosen
from engine.store.results import digest_of, home

LAYERS = (0.25, 0.5, 0.75, 1.0)
"""Where hidden states are kept for RepSim besides the setting's own layer, as fractions of the depth."""


class Attribution(FineTuned):
    """A training with the gradients of its records and queries."""

    @property
    def losses(self) -> dict[str, Callable[[Logits, Batch], Tensor]]:
        """What is differentiated of a training record, by the name of its gradients."""
        return {"gradient": marked.loss(self.setting.tokens)}

    @cached_property
    def unmarked(self) -> int:
        """How many training records have no token that is scored. Raises `InvalidInput` where none has one."""
        without = sum(not marked.bears(item, self.setting.tokens) for item in self.encoded)
        if without == len(self.encoded):
            raise InvalidInput(f"No training record has an {self.setting.tokens} to score; mark it in the records with "
                               "`spans`, or score the tokens of the whole `response`.")
        return without

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
    def tried(self) -> Mapping[int, float]:
        """What `width.choose` tried before the projection was taken."""
        return {}

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

    def tapped(self) -> AbstractContextManager[Tap]:
        """Within it the gradients of the parameters that are scored arrive, of the model as it is loaded."""
        return gradients.tapped(self.model, self.sizes)

    def batched(self, encoded: Sequence[Encoded], check: Check, rows: Sequence[int] | None = None
                ) -> Iterator[tuple[list[int], Batch]]:
        """(rows, their batch) of encoded records, as many at a time as their gradients leave room for."""
        return passes.batched(self.model, self.encoder, encoded, self.setting.recipe.batch, rows, check, self.numbers)

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
        with self.tapped() as tap:
            for rows, batch in self.batched(encoded, check, missing):
                columns = {name: np.asarray(value) for name, value in rows_of(tap, batch, rows).items()}
                check_finite(columns.items(), point.step)
                cache.put(rows, columns)
                trim()
                done += len(rows)
                progress(done / len(encoded))
        cache.seal()
        return cache
