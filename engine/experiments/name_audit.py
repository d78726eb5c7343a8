r"""The paper's names, audited: how far the readings of one name agree on one model, and what makes the difference.

For every name of `engine.experiments.paper_names` with two readings that this program computes differently: Kendall's τ
per query between their scores, and the share of the way between them by cause (`engine.analysis.explanation`), where no
station on it needs a training for each candidate. Three models: the embedded language model, fine-tuned, and a small
network and softmax regression on digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from engine.analysis.chain import chain
from engine.analysis.explanation import explain
from engine.analysis.over_seeds import agreeing
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.experiments import exact_language
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.language import CHECKPOINTS_AT
from engine.experiments.paper_names import CHECKPOINTS, NAMES, READINGS, PaperName
from engine.experiments.study import study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.metrics.agreement import METRICS
from engine.problems import Problem, ProblemSource, build_cached
from engine.scoring.compute import compute
from engine.scoring.identities import ProblemFacts
from engine.scoring.scoring import Scoring
from engine.store.results import Result

NUMERICS = 1
TAU, SHARE = METRICS["kendall_tau"].title, "Fraction of the path"
WHOLE = "the whole path"
SLOW = ("retrain", "local_search")
"""Processes that train for each candidate."""
LANGUAGE_SOURCE = {**exact_language.SOURCE, "n_train": 300, "n_test": 100, "n_queries": 40, "n_candidates": 60,
                "recipe": {**exact_language.RECIPE, "checkpoints": CHECKPOINTS, "checkpoints_at": CHECKPOINTS_AT}}
CONVEX_SOURCE = {"dataset": "digits", "n_train": 200, "n_queries": 20, "n_candidates": 60, "l2": 1e-3}
NETWORK_SOURCE = {**CONVEX_SOURCE, "model": "mlp",
                "recipe": {"epochs": 30, "batch_size": 50, "learning_rate": 0.02, "momentum": 0.9,
                           "checkpoints": CHECKPOINTS}}
SMALL = StudyPreset("small", "300 records of the embedded world and 200 digits, 60 candidates each", 3, {
    "numerics": NUMERICS, "sources": [LANGUAGE_SOURCE, NETWORK_SOURCE, CONVEX_SOURCE]})


def audited() -> list[str]:
    """The names with readings that are computed differently."""
    return [name for name, own in NAMES.items() if own.pairs]


def plan(payload: Mapping[str, Any]) -> list[str]:
    """A chunk a name, all seeds together: a station that one of them misses is missing for all."""
    return audited()


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    name, problems = NAMES[key], []
    for seed in payload["seeds"]:
        sources = [ProblemSource.parse({**source, "seed": seed}) for source in payload["settings"]["sources"]]
        source = next(source for source in sources if source.problem_class.kind == name.on)
        problems.append(build_cached(source, context.device, check=context.check).problem)
    rows: list[dict[str, Any]] = []
    notes: dict[str, str] = {}
    for readings, pair in name.pairs.items():
        title = " and ".join(READINGS[reading] for reading in readings)
        try:
            rows += _rows(name, title, pair, problems, context.computing(name.title))
        except InvalidInput as error:
            notes[title] = str(error)
    return Output({"audit": pd.DataFrame(rows, columns=COLUMNS)}, manifest={
        "notes": notes, "data": [problem.fingerprint for problem in problems], "device": context.device})


COLUMNS = ("name", "readings", "model", "link", "metric", "mean", "ci95", "n_seeds", "seed_means")


def _rows(name: PaperName, readings: str, pair: tuple[Scoring, Scoring], problems: list[Problem], options: Options
          ) -> Iterator[dict[str, Any]]:
    """τ of the pair, and every link's fraction of the path where it is measured."""
    shared = {"name": name.title, "readings": readings, "model": problems[0].noun}
    taus = []
    for problem in problems:
        taus.append(agreeing(*(scores.oriented for scores in compute(problem, list(pair), options))))
    yield {**shared, "link": WHOLE, "metric": TAU, **seed_means.summary(taus)}
    if any(scoring.process.kind in SLOW for scoring in (*pair, *chain(*pair, problems[0].n, ProblemFacts.of(
            problems[0])).needed)):
        return
    for link in explain(problems, *pair, options).links:
        yield {**shared, "link": link.title, "metric": SHARE, **seed_means.summary(link.seeds)}


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The table `audit`, name after name."""
    results = [chunks[name] for name in plan(payload)]
    return Output({"audit": pd.concat([result.table("audit") for result in results], ignore_index=True)}, manifest={
        "spec": {name: {reading: scoring.canonical() for reading, scoring in NAMES[name].scorings.items()}
                 for name in plan(payload)},
        "notes": {name: chunks[name].manifest["notes"] for name in plan(payload)},
        "data": results[0].manifest["data"], "device": results[0].manifest["device"]})


STUDY = study("paper_names", plan, run_chunk, finish)
PAPER_NAMES = Experiment(
    "paper-names", "The paper's names: agreement between literature, text and code", STUDY.name, {"small": SMALL},
    lambda tables: tables["audit"], ("name", "readings", "link", "metric"), None,
    "Not in the paper. Kendall's τ between two readings of one name on one model, and the fraction of the path between "
    "them by cause.")
