"""One run of a language model as a reader asks for it: a study's task and recipe, at a size and seed of their own."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.applications.language import shards
from engine.applications.language.by_query import QueryScoresRequest
from engine.applications.language.decomposition import TokensRequest
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.projection import Projection
from engine.applications.language.run import AttributionRequest
from engine.data import questions, tasks
from engine.data.record_forms import Turns
from engine.data.records import Record
from engine.data.tasks import own
from engine.experiments import backdoor, response_corruption
from engine.jobs import job_digest
from engine.models.causal import catalogue, loading
from engine.models.causal.marked import Mark
from engine.models.causal.readouts import lacking
from engine.models.causal.recipe import FineTuning

SIZES = (80, 200, 1_000, 5_000)
BUDGET = 1 << 30
"""Bytes on disk for the gradients of a run's records."""
SHARES = {"response_corruption": {"clean": 0.8, "answer": 0.1, "rationale": 0.1},
          "conditional_backdoor": {"clean": 0.8, "poison": 0.1, "benign": 0.1}}
"""What share of a task's training records each of its groups has."""
QUERIES = {"response_corruption": "validation", "conditional_backdoor": "test"}
EMBEDDED_PRESETS = {catalogue.EMBEDDED_MODEL: ("embedded", {"questions": "world"}),
                    catalogue.LONG_MODEL: ("embedded-long", {"questions": "world_long"}),
                    catalogue.CONCLUDED_MODEL: ("embedded-long", {"questions": "world_concluded"})}
"""The studies' preset for each embedded model, and the questions that it was trained on."""
STUDIES = {"response_corruption": response_corruption, "conditional_backdoor": backdoor}


@dataclass(frozen=True)
class LanguageStudy:
    """What the reader chose: task, model, number of training records, seed, own file, a typed query if any, and a
    recipe in place of `usual_recipe`.

    modules, tokens, ranges: as `engine.applications.language.fine_tuned.Setting` has them; projection, ridge: those of
    the methods, in place of the usual ones. turns, mark: how the own file is read, as `engine.data.tasks.own` has them.
    """

    task: str
    model: str
    records: int
    seed: int
    file: str = ""
    typed: Record | None = None
    modules: tuple[str, ...] = ()
    tokens: Mark = "response"
    recipe: FineTuning | None = None
    projection: Projection | None = None
    ridge: float | None = None
    turns: Turns = "last"
    mark: Mapping[str, str] = field(default_factory=dict)
    ranges: tuple[str, ...] = ()

    @property
    def setting(self) -> Setting:
        """The setting of its run."""
        given = {"recipe": self.recipe, "projection": self.projection, "ridge": self.ridge}
        changed = {name: value for name, value in given.items() if value is not None}
        return self.usual.model_copy(update={"modules": self.modules, "tokens": self.tokens, "ranges": self.ranges,
                                                    **changed})

    @property
    def usual_recipe(self) -> FineTuning:
        """How the model is fine-tuned where the reader says nothing."""
        return self.usual.recipe

    @property
    def usual(self) -> Setting:
        """Without what the reader chose of training and methods: short records and a strong recipe below a thousand
        records, else the paper's; an embedded model's own, on questions of its world."""
        if self.task == "own":
            given: dict[str, Any] = {"name": "own", "train": self.file, **self._reading}
            task = own.asking(given, [self.typed] if self.typed else [])
            recipe = response_corruption.SETTINGS["small"]["recipe"]
            return setting_of(self.model, task, recipe)
        size = "small" if self.records < 1_000 else "paper"
        preset, known = EMBEDDED_PRESETS.get(catalogue.model_title(self.model), (size, {}))
        chosen = STUDIES[self.task].SETTINGS[preset]
        sizes = {name: round(fraction * self.records) for name, fraction in SHARES[self.task].items()}
        queries = {QUERIES[self.task]: max(8, self.records // 10)}
        return setting_of(self.model, {**chosen["task"], **sizes, **queries, **known}, chosen["recipe"])

    @property
    def _reading(self) -> dict[str, Any]:
        """How the own file is read, where that is not as usual."""
        return {**({} if self.turns == "last" else {"turns": self.turns}), **(
            {"mark": dict(self.mark)} if self.mark else {})}

    def method_setting(self, name: str) -> Any:
        """One of `engine.applications.language.methods.SETTINGS`, as it is where the reader says nothing."""
        usual = self.usual
        return usual.ridge if name == "ridge" else getattr(usual.projection, name)

    def with_methods(self, given: Mapping[str, Any]) -> LanguageStudy:
        """With these settings of the methods. Raises `InvalidInput` for what they may not be."""
        usual = self.usual
        projection = Projection.parse({name: value for name, value in given.items() if name != "ridge"})
        return replace(self, projection=None if projection == usual.projection else projection,
                       ridge=None if given["ridge"] == usual.ridge else given["ridge"])

    @property
    def queries(self) -> Sequence[Record]:
        """What its run explains, in the order in which its ranges count. Raises as `request` does."""
        if self.typed:
            return [self.typed]
        task = tasks.cached_task(self.setting.task)
        return task.queries[task.reference]

    @property
    def lacking(self) -> dict[str, str]:
        """behavior -> what a query lacks that it reads, of those that the reader's own queries do not allow."""
        queries = () if self.task != "own" else tasks.cached_task(self.setting.task).queries["queries"]
        return lacking([self.typed] if self.typed else queries)

    @property
    def request(self) -> AttributionRequest:
        """Its run. Raises one sentence for a model or task that cannot be had."""
        return AttributionRequest(setting=self.setting, seed=self.seed, explained=(self.typed,) if self.typed else ())

    def tokens_of(self, record: int, query: int | None) -> TokensRequest:
        """The score of one record for a query, or of its mean score, taken apart."""
        return TokensRequest(run=self.request, record=record, query=query)

    @property
    def by_query(self) -> QueryScoresRequest:
        """The scores for each query of its run, in the table `by_query`."""
        return QueryScoresRequest(run=self.request)

    @property
    def trained_on(self) -> int:
        """About how many records it trains on."""
        return shards.trained_on(self.setting.task)

    @property
    def missing(self) -> str:
        """What its task lacks on this machine, as a sentence; empty where its questions are here."""
        here, sentence = (True, "") if self.task == "own" else questions.of(self.setting.task).available()
        return "" if here else sentence

    @property
    def command(self) -> str:
        """The command that makes the run and writes its records."""
        run = {**self.setting.model_dump(mode="json", exclude_defaults=True), "seed": self.seed}
        if self.typed:
            run["asked"] = [self.typed.model_dump(mode="json", exclude_defaults=True)]
        text = shlex.quote(json.dumps(run, ensure_ascii=False))
        return f"python -m engine attribute --run {text} --out records.csv"

    @property
    def digest(self) -> str:
        """The id of its job and of its result."""
        return job_digest(AttributionRequest.name, self.request.payload)

    def program(self, column: str, ascending: bool) -> str:
        """A Python program that makes the run and lists its records by a column of their table."""
        return ("from engine.applications.language.run import AttributionRequest\n"
                "from engine.jobs import run_job\n\n"
                f"result = run_job(AttributionRequest.name, {self.request.payload!r})\n"
                f"records = result.table(\"records\").sort_values({column!r}, ascending={ascending})")


def setting_of(model: str, task: Mapping[str, Any], recipe: Mapping[str, Any]) -> Setting:
    """The setting of a task with a recipe; trained adapters are attributed as they are, without further epochs.
    Gradients are kept whole where they fit, else projected, a study's own recipe onto fewer numbers at least."""
    untrained = {"epochs": 0} if loading.find(model).base else {}
    return Setting.parse({"model": model, "task": dict(task), "recipe": {**recipe, **untrained},
                          "projection": {"dimension": 2048 if len(recipe) > 1 else 4096, "budget": BUDGET}})
