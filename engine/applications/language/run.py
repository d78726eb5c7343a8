"""One attribution as a page asks for it: train, score every record for a set of queries or for one that was typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from engine.applications.language import detection, ranges, rankings, shading, shards, sketching, stages
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.methods import REPSIM, RecordMethod, pairs
from engine.basics.errors import InvalidInput
from engine.basics.values import Seed
from engine.data.records import Record
from engine.data.tasks import TASKS, own
from engine.gradients.cached import CachedFeatures
from engine.jobs import Context, Output
from engine.models.causal import catalogue, loading
from engine.models.causal.readouts import READOUTS
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.requests import JobRequest
from engine.store.results import Result

SHADED = (5, 1)
"""How many records get their tokens' contributions: of the end of a ranking that is asked for, and of the other."""
SHADING = 12.0
"""Seconds of these, with the start of a training, of the embedded model."""


@dataclass(frozen=True, eq=False)
class Attributed:
    """What a finished run says of itself, and its tables by name."""

    manifest: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]

    @classmethod
    def of(cls, result: Result) -> Attributed:
        return cls(result.manifest, {name: result.table(name) for name in result.tables})


class AttributionRequest(JobRequest[Attributed]):
    """Fine-tune a model, and score every record for the task's queries, or for those in `explained`."""

    name: ClassVar = "language_run"
    numerics: ClassVar = 5  # turns of a conversation are written by the chat template

    setting: Setting
    seed: Seed = 0
    explained: tuple[Record, ...] = ()

    @property
    def job_title(self) -> str:
        about = "your own prompt" if self.explained else "its own queries"
        return f"{TASKS[self.setting.task['name']].title} · {catalogue.model_title(self.setting.model)} · {about}"

    @property
    def contents(self) -> Mapping[str, str]:
        return stages.contents(self._own)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The setting as plain data, as a study has it."""
        return {"numerics": self.numerics, **self._own.model_dump(mode="json")}

    @property
    def _own(self) -> Setting:
        """The setting; of a user's own records, which ask about others of their own, with these."""
        return self.setting.model_copy(update={"task": own.asking(self.setting.task, self.explained)})

    @property
    def payload(self) -> dict[str, Any]:
        TASKS[self.setting.task.get("name", "")]
        return {"settings": self.settings, "seed": self.seed, "contents": self.contents,
                "asked": [record.model_dump(mode="json") for record in self.explained]}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        return cls.parse({"setting": stages.setting(payload["settings"]), "seed": payload.get("seed", 0),
                          "explained": payload.get("asked", ())})

    def check_contents(self, payload: Mapping[str, Any]) -> None:
        stages.check_contents(payload)

    def check_queued(self) -> None:
        """Raises one sentence for a model that cannot be had, or not be attributed."""
        loading.check(self.setting.model, lora=True, recipe=self.setting.recipe)

    def queries(self, attribution: Attribution) -> tuple[Record, ...]:
        """The records that are explained."""
        return self.explained or attribution.task.queries[attribution.task.reference]

    def attribution(self, context: Context) -> Attribution:
        """What is computed, on this machine's device."""
        return stages.attribution(self.settings, self.seed, context)

    @cached_property
    def chunks(self) -> list[str]:
        return [*stages.chunk_keys(self.settings), "tokens", "scores"]

    def weight(self, chunk: str) -> float:
        """Passes over records, with the queries' behaviors counted as three, and tokens as GradSim's, TRAK's, and
        at every checkpoint TracIn's and, twice as long, LESS's."""
        task, recipe = self.settings["task"], self.settings["recipe"]
        sizes = {name: task.get(name, value) for name, value in TASKS[task["name"]].sizes.items()}
        queries = len(self.explained) or sizes.get("validation") or sizes.get("test") or sizes.get("held") or 1
        n = shards.trained_on(task) or 50
        passes = {"train": n * recipe["epochs"], "records": n, "queries": 3 * queries,
                  "tokens": len(READOUTS) * sum(SHADED) * (2 + 3 * recipe["checkpoints"]), "scores": 1}
        return float(passes.get(chunk.partition("/")[0], 1)) * stages.fraction(self.settings, chunk)

    @property
    def unit(self) -> float:
        """Of a pass over a record; a thousand records and more come with longer texts, but for the embedded model."""
        longer = not catalogue.is_embedded(self.setting.model) and self.weight("records") >= 1_000
        return catalogue.pass_seconds(self.setting.model) * (2.5 if longer else 1.0)

    @property
    def seconds(self) -> float:
        """With what the tokens of a few records take, in passes too short for their number to tell."""
        return super().seconds + (SHADING if catalogue.is_embedded(self.setting.model) else 0.0)

    @property
    def reading(self) -> float:
        """Seconds that the passes over its records and queries take."""
        return self.unit * (self.weight("records") + self.weight("queries"))

    @property
    def involves(self) -> tuple[str, ...]:
        return catalogue.model_title(self.setting.model), str(self.setting.task["name"])

    def after(self, chunk: str) -> list[str]:
        return stages.before(self.chunks, chunk)

    def run_chunk(self, chunk: str, context: Context) -> Output:
        attribution = self.attribution(context)
        queries = self.queries(attribution)
        attribution.unmarked  # noqa: B018 - refuses tokens that no record has, before any training
        if not attribution.behaviors([attribution.encoder.encode(record) for record in queries]):
            raise InvalidInput("No behavior is defined for these queries; give each a response.")
        ranges.flagged(attribution.encoder, self.setting.ranges, queries)  # refuses, before any training
        if chunk.startswith("queries"):
            return _queries_chunk(attribution, queries, int(chunk.partition("/")[2]), context)
        if chunk == "tokens":
            stages.trained(attribution, context, 0.0)
            sign = 1 if self.explained else attribution.task.sign
            return _ends_shaded(attribution, queries, sign, context)
        if chunk == "scores":
            return _scores_chunk(stages.trained(attribution, context, 0.0), queries)
        return stages.shared_chunk(attribution, chunk, [], context)

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        scored, train = Attributed.of(chunks["scores"]), chunks["train"].manifest
        return Output({**scored.tables, "tokens": chunks["tokens"].table("tokens")}, manifest={
            "spec": {"settings": self.settings}, "seeds": [self.seed], direction.QUANTITY: {
                "records": quantities(scored.manifest["behaviors"])},
            **{name: scored.manifest[name] for name in ("sign", "behaviors", "layers", "sketch")},
            **{name: train[name] for name in ("facts", "run", "device")}, "libraries": stages.libraries()})

    @classmethod
    def loaded(cls, result: Result) -> Attributed:
        return Attributed.of(result)


def column(method: str, behavior: str, layer: float = 1.0) -> str:
    """The name of a score's column. layer: where RepSim reads."""
    return f"{method}|{behavior}" + (f"|{layer:g}" if method == REPSIM.name else "")


def quantities(behaviors: Sequence[str]) -> str:
    """What larger scores say, by the behavior in the name of their column."""
    return direction.named({name: direction.larger(BEHAVIORS[name]) for name in behaviors})


def score_columns(features: CachedFeatures, score: Callable[[RecordMethod, CachedFeatures, str], np.ndarray]
                  ) -> Iterator[tuple[str, np.ndarray]]:
    """(column, scores) of every estimator and behavior, RepSim at every layer; score: as the methods have it."""
    for method, behavior in pairs(features.behaviors):
        if method is not REPSIM:
            yield column(method.name, behavior), score(method, features, behavior)
    for layer in features.hidden:
        yield column(REPSIM.name, "none", layer), score(REPSIM, replace(features, layer=layer), "none")


def _queries_chunk(attribution: Attribution, queries: Sequence[Record], number: int, context: Context) -> Output:
    """The cache of the queries' gradients at a checkpoint, if the training has so many."""
    stages.trained(attribution, context, 0.0)
    if number >= len(attribution.points):
        return Output(manifest={"size": 0})
    cache = attribution.query_cache(attribution.points[number], queries, context.check,
                                    lambda done: context.progress(done, f"queries, checkpoint {number + 1}"))
    return Output(manifest={"size": cache.size})


def _scores_chunk(attribution: Attribution, queries: Sequence[Record]) -> Output:
    """Every record with its mean support under every estimator and behavior, and how well flags are found."""
    features, task = attribution.features(queries), attribution.task
    scores = dict(score_columns(features, RecordMethod.mean_score))
    rows = [{"record": row, "id": record.id, "prompt": record.prompt, "response": record.response,
             "flags": json.dumps(record.flags), "spans": json.dumps(record.spans), "marks": json.dumps(record.marks)}
            for row, record in enumerate(task.train)]
    ranked = rankings.rankings(features, task.sign)
    measured = [{"sought": title, "method": method, "behavior": behavior, "metric": metric, "value": value}
                for title, flag in task.sought.items() if 0 < task.flagged(flag).sum() < len(task.train)
                for (method, behavior), values in ranked.items()
                for metric, value in [*detection.detection(task.flagged(flag), values).items(),
                                      ("share", float(task.flagged(flag).mean()))]]
    stability = sketching.stability(features)
    further = {"detection": pd.DataFrame(measured), "sketch": stability}
    return Output({"records": pd.DataFrame(rows).assign(**scores),
                   "queries": pd.DataFrame([{"id": r.id, "prompt": r.prompt, "response": r.response} for r in queries]),
                   **{name: table for name, table in further.items() if len(table)}}, manifest={
        "sign": task.sign, "behaviors": list(features.behaviors), "layers": list(features.hidden),
        "sketch": sketching.described(stability, attribution.projection, attribution.tried)})


def _ends_shaded(attribution: Attribution, queries: Sequence[Record], sign: int, context: Context) -> Output:
    """Token contributions to the scores of the records at the ends of every ranking that is a sum over tokens."""
    features = attribution.features(queries)
    return Output({"tokens": shading.shaded(
        attribution, features, lambda method, name: _ends(sign * method.score(features, name).mean(0)), context)})


def _ends(scores: np.ndarray) -> list[int]:
    """The rows of the largest and of the smallest scores, as many as `SHADED` says, each once."""
    order = np.argsort(-scores, kind="stable").tolist()
    return list(dict.fromkeys([*order[:SHADED[0]], *order[max(0, len(order) - SHADED[1]):]]))
