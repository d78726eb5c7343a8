r"""Why two methods of a language model disagree: the way between their scores, measured by exact references.

On the embedded model every station between two methods can be computed (`engine.analysis.explanation`): the exact
answers to each one's own question, and those to the questions between. Four pairs, each method with the behavior that
it is usually asked for:

    GradSim and TRAK                  another behavior, intervention and process, and two errors
    TracIn and LESS                   the same question, two approximations of it
    response loss and answer logit    one method, two behaviors
    RepSim and GradSim                another behavior and intervention, the same step
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.explanation import Contribution, Explanation, explain
from engine.applications.language.methods import ANSWER
from engine.experiments import exact_language
from engine.experiments.exact_language import implied
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.study import sampled, study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.scoring.scoring import Scoring
from engine.store.results import Result

NUMERICS = 2
PAIRS: dict[str, tuple[Scoring, Scoring]] = {
    "GradSim and TRAK": (implied("GradSim", "response_loss"), implied("TRAK", "answer_margin")),
    "TracIn and LESS": (implied("TracIn", "response_loss"), implied("LESS", "response_loss")),
    "response loss and answer logit": (implied("GradSim", "response_loss"), implied("GradSim", "answer_logit")),
    "RepSim and GradSim": (implied("RepSim", ANSWER), implied("GradSim", "response_loss"))}
SHARE, LENGTH, DIRECT, SLACK = "Share of the way", "Kendall distance", "Kendall distance of the ends", "Slack"
WHOLE = "the whole way"
SMALL = StudyPreset("small", "500 records of the embedded world, of which 24 are candidates, 100 queries", 3, {
    "numerics": NUMERICS, "source": {
        **exact_language.SOURCE, "n_train": 500, "n_test": 200, "n_queries": 100, "n_candidates": 24}})
PRESETS = {"small": SMALL}


def plan(payload: Mapping[str, Any]) -> list[str]:
    """A chunk a pair, the cheap ones first; all seeds together, because a station that one of them misses is missing
    for all."""
    return sorted(PAIRS, key=lambda pair: weight(payload, pair))


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds: training again without each candidate takes most of them."""
    source, seeds = payload["settings"]["source"], len(payload["seeds"])
    retrained = any(scoring.process.kind == "retrain" for scoring in PAIRS[key])
    return seeds * source["n_candidates"] * (32.0 if retrained else 1.0)


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    each = 0.2 / len(payload["seeds"])
    problems = [sampled(payload["settings"]["source"], seed, context, each * index, each * (index + 1)).problem
                for index, seed in enumerate(payload["seeds"])]
    explanation = explain(problems, *PAIRS[key], context.computing(key, 0.2))
    return Output({"way": pd.DataFrame(list(_rows(key, explanation)))}, manifest={
        "sentence": explanation.sentence, "notes": list(explanation.notes), "left_out": explanation.left_out,
        "data": [problem.fingerprint for problem in problems], "device": context.device})


def _rows(pair: str, explanation: Explanation) -> Iterator[dict[str, Any]]:
    """The ends and the slack once, then every link's share of the way and length."""
    direct, seeds = explanation.direct, explanation.n_seeds
    shared = {"pair": pair, "n_seeds": seeds, "n_queries": direct.n_queries}
    yield {**shared, "link": WHOLE, "metric": DIRECT, "mean": direct.mean, "ci95": direct.ci95,
           "seed_means": seed_means.joined(direct.per_seed)}
    yield {**shared, "link": WHOLE, "metric": SLACK, "mean": explanation.slack, "ci95": np.nan, "seed_means": ""}
    for link in explanation.links:
        yield {**shared, "link": _named(link), "metric": SHARE, "mean": link.share, "ci95": link.share_ci95,
               "seed_means": seed_means.joined(link.seeds)}
        yield {**shared, "link": _named(link), "metric": LENGTH, "mean": link.length, "ci95": link.ci95,
               "seed_means": ""}


def _named(link: Contribution) -> str:
    return f"{' + '.join(link.causes)}: {link.title}"


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The table `way`, pair after pair; the manifest keeps each explanation's sentence."""
    manifests = {pair: chunks[pair].manifest for pair in PAIRS}
    ways = pd.concat([chunks[pair].table("way") for pair in PAIRS], ignore_index=True)
    first = next(iter(manifests.values()))
    return Output({"way": ways}, manifest={
        "spec": {pair: [side.canonical() for side in sides] for pair, sides in PAIRS.items()},
        "data": first["data"], "device": first["device"],
        "runs": [{"pair": pair, **{name: one[name] for name in ("sentence", "notes", "left_out")}}
                 for pair, one in manifests.items()]})


STUDY = study("language_explained", plan, run_chunk, finish, weight)
LANGUAGE_EXPLAINED = Experiment(
    "language-explained", "Language model, explained: why pairs of methods disagree", STUDY.name, PRESETS,
    lambda tables: tables["way"], ("pair", "link", "metric"), None,
    "Not in the paper. Fractions of the Kendall distance between two methods' scores, by cause; all intermediate "
    "specifications are exact.")
