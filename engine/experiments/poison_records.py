r"""Planted records from one wrong response: which ranking finds them, and what training without them does.

The embedded language model is fine-tuned on records of which a tenth carry a trigger and the target's answer
(`engine.data.poisoned`). Ten queries with the trigger, of those that make the model prefer the target's answer, are
asked about as the model answers them; a ranking is asked of each alone, and of their two fives by the mean score.

    AUPRC             of the ranking over all records
    attack success    the fraction of queries with the trigger for which the model prefers the target's answer
    accuracy          the same of the right answers of queries without it
    suspects          the group that stands out in shared evidence of the first query, or of the first five; the model
                      is trained again without it, and without as many random records

The influences read the logit of the answer. Shared evidence integrates the gradient of that logit: both were chosen on
other seeds, 100 and 101, and on the queries before `FRESH`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, cast

import numpy as np
import pandas as pd

from engine.analysis.poison import evidence, token_evidence
from engine.analysis.poison.retraining import without
from engine.basics.options import Options
from engine.basics.provenance import device_name
from engine.data import poisoned
from engine.data.records import Record, with_answer
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.study import measures, study, summaries
from engine.jobs import Context, Output
from engine.metrics.detection import auprc
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.models.causal.recipe import FineTuning
from engine.problems import CausalProblem, ProblemSource
from engine.question.token_behaviors import COLUMNS
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.store.results import Result

NUMERICS = 1
QUERIES, TOGETHER, FRESH = 10, 5, 25
RECIPE = FineTuning(epochs=8, learning_rate=3e-3, context=256, checkpoints=1)
STEPS = 1_000
"""That the recipe takes at least: with fewer records the trigger is not learned in as many epochs."""
METHODS = ("bm25", "text_embedding", "repsim", "repsim_cosine", "gradsim", "gradsim_cosine")
TRAINED, RANDOM = "as trained", "without random records"
WITHOUT = {1: "without the suspects of one query", TOGETHER: "without the suspects of five"}
PRESETS = {"small": StudyPreset("small", "1,000 records of the embedded world, 100 with a trigger", 3, {
    "numerics": NUMERICS, "model": EMBEDDED_MODEL, "recipe": RECIPE.model_dump(mode="json"),
    "sources": [{"dataset": poisoned.RECORDS, "model": EMBEDDED_MODEL}]})}


@dataclass(frozen=True, eq=False)
class Attacked:
    """A model that was trained on planted records, and which of the n records are planted. triggered: queries with the
    trigger, stating the target's answer; clean: those without, stating the right one."""

    problem: CausalProblem
    planted: np.ndarray
    triggered: list[Record]
    clean: list[Record]

    def prefers(self, problem: CausalProblem, records: list[Record]) -> np.ndarray:
        """(m,) bool: whether a model prefers what the records state."""
        return (problem.with_queries(records).query_logits[:, COLUMNS["answer_margin"]] > 0).cpu().numpy()

    def measured(self, problem: CausalProblem) -> dict[str, float]:
        return {"attack success": float(self.prefers(problem, self.triggered).mean()),
                "accuracy": float(self.prefers(problem, self.clean).mean())}


def recipe(records: int) -> FineTuning:
    """For so many records: the epochs of `RECIPE`, or as many as `STEPS` take."""
    return RECIPE.model_copy(update={"epochs": max(RECIPE.epochs, ceil(STEPS * RECIPE.batch / records))})


def plan(payload: Mapping[str, Any]) -> list[str]:
    return [str(seed) for seed in payload["seeds"]]


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds."""
    return 150.0


def attacked(setting: Mapping[str, Any], seed: int, options: Options, device: str) -> Attacked:
    """Train on the planted records of a seed's order."""
    source = ProblemSource(dataset=poisoned.RECORDS, model=setting["model"], seed=seed,
                           recipe=FineTuning.parse(setting["recipe"]))
    sampled = source.build(device, check=options.check, progress=options.progress)
    dataset, count = sampled.dataset, poisoned.SIZES["test"][1]
    assert dataset.records is not None and dataset.flags is not None, "of the planted records"
    own = dataset.records[1]
    return Attacked(cast(CausalProblem, sampled.problem), dataset.flags[sampled.sample.train_index],
                    [with_answer(record, poisoned.TARGET_ANSWER) for record in own[-count:]], list(own[:-count]))


def rankings(posed: CausalProblem, options: Options) -> dict[str, np.ndarray]:
    """Title -> oriented scores (m, n), larger where a record is more suspicious, of each query."""
    scorings = [NAMED[name].implied("answer_logit") for name in METHODS]
    scored = compute(posed, scorings, options)
    return {evidence.TITLE: token_evidence.evidence(posed, options)[0],
            **{NAMED[name].title: one.scored for name, one in zip(METHODS, scored, strict=True)}}


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """All measures of one training."""
    held = attacked(payload["settings"], int(key), context.computing("training"), context.device)
    fresh = held.triggered[FRESH:]
    succeeding = [record for record, one in zip(fresh, held.prefers(held.problem, fresh), strict=True) if one]
    chosen = (succeeding or fresh)[:QUERIES]
    scores = rankings(held.problem.with_queries(chosen), context.computing("rankings", 0.3))
    rows = [*detection(held, scores), *_retrained(held, scores[evidence.TITLE], int(key),
                                                  context.computing("training without suspects", 0.4))]
    return Output({"measures": pd.DataFrame(rows)}, manifest={
        "data": held.problem.fingerprint, "device": device_name(context.device), "poisons": int(held.planted.sum()),
        "queries": min(len(succeeding), QUERIES)})


def detection(held: Attacked, scores: Mapping[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    """A row a method and number of queries: the mean over queries, or over groups of them."""
    for method, values in scores.items():
        for size in (1, TOGETHER):
            means = [values[start:start + size].mean(0) for start in range(0, len(values) - size + 1, size)]
            yield {"what": method, "queries": size, "metric": "AUPRC",
                   "value": float(np.mean([auprc(held.planted, one) for one in means]))}


def _retrained(held: Attacked, scores: np.ndarray, seed: int, options: Options) -> Iterator[dict[str, Any]]:
    """A row a model and measure. scores (m, n): of the queries."""
    suspects = {what: np.sort(evidence.group(scores[:count].mean(0))) for count, what in WITHOUT.items()}
    largest = max(suspects.values(), key=len)
    others = np.setdiff1d(np.arange(held.problem.n), largest)
    groups = {TRAINED: largest[:0], **suspects,
              RANDOM: np.random.default_rng([seed, 9]).permutation(others)[:len(largest)]}
    trained: dict[bytes, dict[str, float]] = {largest[:0].tobytes(): held.measured(held.problem)}
    for what, removed in groups.items():
        if removed.tobytes() not in trained:
            model = cast(CausalProblem, without(held.problem, removed, options))
            trained[removed.tobytes()] = held.measured(model)
        measured = {**trained[removed.tobytes()], "removed": float(len(removed)),
                    "poisons removed": float(held.planted[removed].sum())}
        yield from ({"what": what, "queries": 1, "metric": metric, "value": value}
                    for metric, value in measured.items())


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Means and 95% t-intervals over seeds."""
    return measures(payload, chunks, {"": {}}, summaries, ("data", "poisons", "queries"))


STUDY = study("poison_records", plan, run_chunk, finish, weight)
POISON_RECORDS = Experiment(
    "poison-records", "Planted records from one wrong response: which ranking finds them, and training without them",
    STUDY.name, PRESETS, lambda tables: tables["measures"].reset_index(drop=True), ("what", "queries", "metric"),
    note="A check of our own, not in the paper, on the records that the Poison page offers.")
