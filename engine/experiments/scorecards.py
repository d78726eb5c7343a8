r"""Scorecards as published evidence: every method on every benchmark, with the exact answers and the controls.

A card is made for each model and each seed, which draws the data, the training, the subsets and the marks; what is
published is the mean over queries or repetitions of a card, then the mean over cards with its 95% t interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from engine import data
from engine.analysis.scorecard import Sizes, fitting, running
from engine.basics.provenance import device_name
from engine.experiments.contents import check
from engine.experiments.exact_language import RECIPE
from engine.experiments.exact_language import SOURCE as LANGUAGE
from engine.experiments.experiment import Experiment, Preset
from engine.jobs import Context, JobKind, Output
from engine.metrics import seed_means
from engine.models.catalogue import model_title
from engine.problems import ProblemSource, build_kept
from engine.runs.scorecard import measured
from engine.store.results import Result

NUMERICS = 1
KEYS = ["model", "benchmark", "measure", "method"]
SMALL = Sizes(candidates=60, models=20, fractions=(0.5,), queries=3, removed=(0.1,), repeats=1, seeds=2, top=5)
LINES = {"dataset": "digits", "n_train": 60, "n_queries": 20, "n_candidates": 60}
"""All are candidates, so that each mark that is planted is on some of them."""
NETWORK = {**LINES, "model": "cnn", "recipe": {"epochs": 15, "batch_size": 20, "learning_rate": 0.05, "momentum": 0.9,
                                               "checkpoints": 4}}
RECORDS = {**LANGUAGE, "n_train": 32, "n_test": 60, "n_queries": 10, "n_candidates": 32,
           "recipe": {**RECIPE, "epochs": 3, "checkpoints": 3}}


def _settings(sources: list[Mapping[str, Any]], sizes: Sizes) -> dict[str, Any]:
    return {"numerics": NUMERICS, "sources": sources, "sizes": sizes.model_dump(mode="json")}


PRESETS = {
    "small": Preset("small", "Softmax regression and a convolutional network on 60 digits, all of them candidates", 3,
                    _settings([LINES, NETWORK], SMALL)),
    "embedded": Preset("embedded", "The embedded language model on 32 records, all of them candidates", 3, _settings(
        [RECORDS], SMALL.model_copy(update={"candidates": 32, "queries": 2})))}


def plan(payload: Mapping[str, Any]) -> list[str]:
    """A chunk a seed, model and benchmark."""
    return [f"{seed}/{place}/{benchmark}" for place, source in enumerate(payload["settings"]["sources"])
            for seed in payload["seeds"] for benchmark in running(ProblemSource.parse(source).problem_class)]


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """The rows of one benchmark on one model."""
    check(payload)
    settings = payload["settings"]
    seed, place, benchmark = key.split("/")
    source = ProblemSource.parse({**settings["sources"][int(place)], "seed": int(seed)})
    problem = build_kept(source, context.device, check=context.check).problem
    sizes = Sizes.parse({**settings["sizes"], "seed": int(seed)})
    problem = problem.with_candidates(problem.candidates[:sizes.candidates])
    rows = measured(problem, benchmark, {"methods": fitting(type(problem)), "behavior": _behavior(source),
                                         "sizes": sizes.model_dump(mode="json")}, context)
    return Output({"rows": rows}, manifest={"data": problem.fingerprint, "device": device_name(str(problem.device))})


def _behavior(source: ProblemSource) -> str:
    """Minus the loss of a query."""
    return "response_loss" if source.problem_class.reads == "tokens" else "query_loss"


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The table `cards`."""
    parts = []
    for key in plan(payload):
        source = payload["settings"]["sources"][int(key.split("/")[1])]
        parts.append(chunks[key].table("rows").assign(model=_title(source)))
    rows = pd.concat(parts, ignore_index=True)
    told = []
    for names, own in rows.groupby(KEYS, sort=False):
        first = own.iloc[0]
        kept = {"title": first["title"], "exact": bool(first["exact"]), "control": bool(first["control"])}
        told.append({**dict(zip(KEYS, names, strict=True)), **kept, **seed_means.summary(own["mean"]),
                     "n_dropped": int(own["n_dropped"].sum())})
    seen = {key.rpartition("/")[0]: chunks[key].manifest for key in plan(payload)}
    return Output({"cards": pd.DataFrame(told)}, manifest={
        "spec": payload["settings"], "seeds": payload["seeds"], "device": next(iter(seen.values()))["device"],
        "runs": [{"run": run, "data": one["data"]} for run, one in seen.items()]})


def _title(source: Mapping[str, Any]) -> str:
    parsed = ProblemSource.parse(source)
    return f"{model_title(parsed.model)}, {data.title(parsed.dataset)}"


STUDY = JobKind("scorecards", plan, run_chunk, finish)
SCORECARD = Experiment(
    "scorecard", "Scorecard, benchmarks: every method, with the exact answers and the controls", STUDY.name, PRESETS,
    lambda tables: tables["cards"], tuple(KEYS), None,
    "Not in the paper. Means over queries or repetitions of a card, then over cards of other draws. Random weights: "
    "nearer to zero is better; elsewhere larger is.")
