r"""Scorecards as published evidence: every method on every benchmark, with the exact answers and the controls.

A card is made for each model and each seed, which draws the data, the training, the subsets and the marks; what is
published is the mean over queries or repetitions of a card, then the mean over cards with its 95% t interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine import data
from engine.analysis.protocols import PROTOCOLS
from engine.analysis.scorecard import BENCHMARKS, ScorecardRequest, Sizes, card, fitting, running
from engine.basics.provenance import device_name
from engine.experiments.exact_language import RECIPE
from engine.experiments.exact_language import SOURCE as LANGUAGE
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.study import study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.models.catalogue import model_title
from engine.problems import ProblemSource, build_cached
from engine.store.results import Result

NUMERICS = 2
KEYS = ["model", "benchmark", "protocol", "measure", "method"]
SMALL = Sizes(candidates=60, models=20, fractions=(0.5,), queries=3, removed=(0.1,), repeats=1, seeds=2, top=5)
LINES = {"dataset": "digits", "n_train": 60, "n_queries": 20, "n_candidates": 60}
"""All are candidates, so that each mark that is planted is on some of them."""
SOFTMAX = {"dataset": "digits", "n_train": 300, "n_queries": 100, "n_candidates": 300}
NETWORK = {**SOFTMAX, "model": "mlp", "recipe": {"epochs": 30, "batch_size": 50, "learning_rate": 0.05,
                                                 "momentum": 0.9, "checkpoints": 4}}
RECORDS = {**LANGUAGE, "n_train": 200, "n_test": 200, "n_queries": 100, "n_candidates": 200,
           "recipe": {**RECIPE, "epochs": 3, "checkpoints": 3}}
HALVES = Sizes(candidates=300, models=100, fractions=(0.5,), queries=20, removed=(0.1,), repeats=3, seeds=2, top=10,
               protocol="subset", among="all")
"""Half of all training examples, as linear datamodeling scores are defined in the literature."""
READERS = ("influence_function_ekfac", "influence_function_datainf", "gradsim", "gradsim_cosine", "tracin", "trak",
           "nearest", "random")
"""Methods that train nothing, with two controls."""


def _settings(sources: list[Mapping[str, Any]], sizes: Sizes, **chosen: Sequence[str]) -> dict[str, Any]:
    """chosen: `benchmarks`, `methods` and `protocols`, where not all that fit and the sizes' own."""
    return {"numerics": NUMERICS, "sources": sources, "sizes": sizes.model_dump(mode="json"),
            **{name: list(values) for name, values in chosen.items()}}


PRESETS = {
    "small": StudyPreset("small", "Softmax regression, 60 digits, 20 queries, 20 subsets: a check that it runs, not "
                         "evidence", 3, _settings([LINES], SMALL)),
    "softmax-300": StudyPreset(
        "softmax-300", "Softmax regression: digits, 300 training examples, all of them candidates, 100 queries, 100 "
        "subsets of half of them", 3, _settings([SOFTMAX], HALVES)),
    "mlp-300": StudyPreset(
        "mlp-300", "A two-layer network: digits, 300 training examples, all of them candidates, 100 queries, 100 "
        "subsets of half of them, under three protocols", 3, _settings(
            [NETWORK], HALVES, benchmarks=["lds"], methods=READERS, protocols=list(PROTOCOLS))),
    "records-200": StudyPreset(
        "records-200", "The embedded language model: 200 training records, all of them candidates, 100 queries, 100 "
        "subsets of half of them", 3, _settings([RECORDS], HALVES.model_copy(update={"candidates": 200})))}


def plan(payload: Mapping[str, Any]) -> list[str]:
    """A chunk a seed, model, benchmark and protocol."""
    settings = payload["settings"]
    return [f"{seed}/{index}/{benchmark}/{protocol}" for index, source in enumerate(settings["sources"])
            for seed in payload["seeds"] for benchmark in running(ProblemSource.parse(source).problem_class)
            if benchmark in settings.get("benchmarks", [benchmark]) for protocol in _protocols(settings, benchmark)]


def _protocols(settings: Mapping[str, Any], benchmark: str) -> Sequence[str]:
    """Those by which a benchmark is run: once, where it trains no models without some examples."""
    own = settings["sizes"].get("protocol", "weights")
    return settings.get("protocols", [own]) if BENCHMARKS[benchmark].retrains else [own]


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """The rows of one benchmark on one model."""
    settings = payload["settings"]
    seed, index, benchmark, protocol = key.split("/")
    source = ProblemSource.parse({**settings["sources"][int(index)], "seed": int(seed)})
    problem = build_cached(source, context.device, check=context.check).problem
    sizes = Sizes.parse({**settings["sizes"], "seed": int(seed), "protocol": protocol})
    problem = problem.with_candidates(problem.candidates[:sizes.candidates])
    methods = settings.get("methods", fitting(type(problem)))
    request = ScorecardRequest(sizes=sizes, behavior=_behavior(source), methods=methods, benchmarks=(benchmark,))
    cards = request.compute(problem, benchmark, context.computing(BENCHMARKS[benchmark].title, 0.1), context.store)
    return Output({"rows": cards.scorecard}, manifest={"data": problem.fingerprint,
                                                       "device": device_name(str(problem.device))})


def _behavior(source: ProblemSource) -> str:
    """Minus the loss of a query."""
    return "response_loss" if source.problem_class.reads == "tokens" else "query_loss"


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The table `cards`."""
    frames = []
    for key in plan(payload):
        source = payload["settings"]["sources"][int(key.split("/")[1])]
        frames.append(chunks[key].table("rows").assign(model=_title(source)))
    rows = pd.concat(frames, ignore_index=True)
    means = []
    for names, own in rows.groupby(KEYS, sort=False):
        first = own.iloc[0]
        kind = {"title": first["title"], "exact": bool(first["exact"]), "control": bool(first["control"])}
        means.append({**dict(zip(KEYS, names, strict=True)), **kind, **seed_means.summary(own["mean"]), **_counts(own)})
    seen = {"/".join(key.split("/")[:2]): chunks[key].manifest for key in plan(payload)}
    return Output({"cards": pd.DataFrame(means)}, manifest={
        "spec": payload["settings"], "device": next(iter(seen.values()))["device"],
        "protocols": {name: f"{PROTOCOLS[name].definition} S: {PROTOCOLS[name].estimand}"
                      for name in dict.fromkeys(rows["protocol"]) if name},
        "runs": [{"run": run, "data": one["data"]} for run, one in seen.items()]})


def _counts(cards: pd.DataFrame) -> dict[str, Any]:
    """What is counted in a row, and the cards' own intervals: half widths over queries and over the draw of subsets,
    averaged over cards, and the standard deviation over training seeds, its squares averaged."""
    return {"n_queries": int((cards["n"] + cards["n_dropped"]).iloc[0]), "n_dropped": int(cards["n_dropped"].sum()),
            "ci95_queries": float(cards["ci95"].mean()), "subsets": int(cards["subsets"].iloc[0]),
            "ci95_subsets": float(cards["ci95_subsets"].mean()), "training_seeds": int(cards["n_seeds"].iloc[0]),
            "seed_sd": float(np.sqrt((cards["seed_sd"] ** 2).mean()))}


def _title(source: Mapping[str, Any]) -> str:
    parsed = ProblemSource.parse(source)
    return (f"{model_title(parsed.model)}, {data.title(parsed.dataset)}, {parsed.n_train:,} training examples, "
            f"{parsed.n_queries:,} queries")


def _view(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The table `cards`; one of an earlier version, which names no protocol, had `weights`."""
    cards = tables["cards"]
    if "protocol" in cards:
        return cards
    older = card.with_older(cards)
    return older[[*KEYS, *(name for name in cards if name not in KEYS)]]


STUDY = study("scorecards", plan, run_chunk, finish)
SCORECARD = Experiment(
    "scorecard", "Scorecard, benchmarks: every method, with the exact answers and the controls", STUDY.name, PRESETS,
    _view, tuple(KEYS), None,
    "Not in the paper. Means over queries or repetitions of a card, then over cards of other samples and training "
    "runs, ± over cards. `other seed` holds scores of one training against models of another; `another_seed` is the "
    "score of the exact answer of another training seed. Random weights: nearer to zero is better; otherwise larger "
    "is better.")
