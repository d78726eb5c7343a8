r"""Leaderboards as published evidence: every named method on one training problem, means over seeds.

A seed draws the data, the training, the subsets and the random groups. What is published is the mean over queries of a
seed, then over seeds with its 95% t interval; of a single seed that over its queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from engine import data
from engine.analysis.leaderboard import LeaderboardRequest, answering
from engine.analysis.leaderboard.board import KEYS
from engine.analysis.scorecard import Sizes
from engine.basics.provenance import device_name
from engine.experiments.exact_language import RECIPE
from engine.experiments.exact_language import SOURCE as LANGUAGE
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.study import study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.metrics.intervals import known_mean
from engine.models.catalogue import model_title
from engine.models.causal.catalogue import SMALL_MODEL
from engine.problems import ProblemSource, build_cached
from engine.store.results import Result

NUMERICS = 2
SMALL = Sizes(candidates=20, models=10, fractions=(0.5,), queries=2, removed=(0.1,), seeds=2, top=5)
HALVES = Sizes(candidates=100, models=100, fractions=(0.5,), queries=15, removed=(0.05,), seeds=2, top=10)
DIGITS = {"dataset": "digits", "model": "mlp", "n_train": 60, "n_queries": 6, "n_candidates": 20,
          "recipe": {"epochs": 10, "batch_size": 30, "learning_rate": 0.05, "momentum": 0.9, "checkpoints": 3}}
FASHION = {"dataset": "fashion_mnist", "model": "mlp", "pool": 4, "n_train": 300, "n_queries": 30, "n_candidates": 100,
           "recipe": {"epochs": 15, "batch_size": 50, "learning_rate": 0.05, "momentum": 0.9, "checkpoints": 5}}
CIFAR = {"dataset": "cifar10", "model": "cnn", "pool": 4, "n_train": 200, "n_queries": 15, "n_candidates": 50,
         "recipe": {"epochs": 20, "batch_size": 25, "learning_rate": 0.05, "momentum": 0.9, "checkpoints": 5}}
RECORDS = {**LANGUAGE, "n_train": 32, "n_test": 60, "n_queries": 10, "n_candidates": 20,
           "recipe": {**RECIPE, "epochs": 3, "batch": 8, "checkpoints": 3}}
OF_RECORDS = HALVES.model_copy(update={"candidates": 20, "models": 24, "queries": 2, "removed": (0.2,), "top": 4})


LAST_BLOCKS = ",".join(f"{block}.self_attn.{name}_proj" for block in range(26, 30) for name in "qv")
"""Queries and values of the last four blocks of SmolLM2-135M: a pass back ends there."""
SMOLLM = {"dataset": "scienceqa_short", "model": SMALL_MODEL, "n_train": 10, "n_test": 20, "n_queries": 3,
          "n_candidates": 10, "recipe": {"rank": 4, "targets": LAST_BLOCKS, "epochs": 1, "batch": 5, "context": 256,
                                         "learning_rate": 1e-2, "checkpoints": 2}}
"""The learning rate has the lowest loss of queries after one epoch on seed 100."""
OF_SMOLLM = HALVES.model_copy(update={"candidates": 10, "models": 12, "queries": 2, "removed": (0.2,), "top": 2})
OF_SMOLLM_METHODS = (
    "gradsim", "gradsim_cosine", "gradsim_adam", "representer", "influence_function_ekfac",
    "influence_function_datainf", "influence_function_logra", "trackstar", "replay", "dvemb", "tracin_run", "loo",
    "trak", "trak;ridge_rule=loo", "gradient_norm", "bm25", "text_embedding", "random")
"""Of the families whose exact answers take minutes, and the controls: a step of this model in float64 takes a core 20
seconds, so that trajectories and similarities, whose answers are steps from several states, are left out."""


def _settings(source: Mapping[str, Any], sizes: Sizes, damping: float, **limits: Any) -> dict[str, Any]:
    return {"numerics": NUMERICS, "source": source, "sizes": sizes.model_dump(mode="json"), "damping": damping,
            **limits}


OF_CIFAR = HALVES.model_copy(update={"candidates": 50, "models": 40, "queries": 3})
PRESETS = {
    "small": StudyPreset("small", "A two-layer network: 60 digits, 20 candidates, 6 queries, 10 subsets: a check that "
                         "it runs, not evidence", 2, _settings(DIGITS, SMALL, 1.0)),
    "mlp-fashion": StudyPreset(
        "mlp-fashion", "A two-layer network: Fashion-MNIST at 7 × 7 pixels, 300 training examples, 100 candidates, 30 "
        "queries, 100 subsets of half of the candidates", 4, _settings(FASHION, HALVES, 0.5)),
    "cnn-cifar": StudyPreset(
        "cnn-cifar", "A convolutional network: CIFAR-10 at 8 × 8 pixels, 200 training examples, 50 candidates, 15 "
        "queries, 40 subsets of half of the candidates", 3, _settings(CIFAR, OF_CIFAR, 2.0)),
    "records": StudyPreset(
        "records", "The embedded language model: 32 training records, 20 candidates, 10 queries, 24 subsets of half of "
        "the candidates", 3, _settings(RECORDS, OF_RECORDS, 0.01, most_seconds=100.0)),
    "smollm-lora": StudyPreset(
        "smollm-lora", "SmolLM2-135M-Instruct with LoRA: 10 short ScienceQA records, all of them candidates, 3 "
        "queries, 12 subsets of half of the candidates", 1,
        _settings(SMOLLM, OF_SMOLLM, 0.01, methods=list(OF_SMOLLM_METHODS), precision="float32"))}


def plan(payload: Mapping[str, Any]) -> list[str]:
    """A chunk a seed and chunk of the board."""
    return [f"{seed}/{chunk}" for seed in payload["seeds"] for chunk in request_of(payload, seed).chunks]


def weight(payload: Mapping[str, Any], key: str) -> float:
    seed, _, chunk = key.partition("/")
    return request_of(payload, int(seed)).weight(chunk)


def request_of(payload: Mapping[str, Any], seed: int) -> LeaderboardRequest:
    settings = payload["settings"]
    source = ProblemSource.parse({**settings["source"], "seed": seed})
    sizes = Sizes.parse({**settings["sizes"], "seed": seed})
    methods = tuple(settings.get("methods") or answering(source.problem_class))
    limits = {name: settings[name] for name in ("damping", "most_seconds") if name in settings}
    return LeaderboardRequest(sizes=sizes, methods=methods, **limits).of(source)


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """The arrays of one chunk of one seed's board."""
    seed, _, chunk = key.partition("/")
    request = request_of(payload, int(seed))
    problem = build_cached(request.origin, context.device, check=context.check).problem
    options = replace(context.computing(chunk, 0.1), precision=payload["settings"].get("precision", "auto"))
    answer = request.compute(request.narrowed(problem), chunk, options, context.store)
    return Output(arrays=dict(answer.arrays), manifest={
        "data": problem.fingerprint, "device": device_name(str(problem.device)), "query_accuracy": problem.accuracy()})


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The table `board`."""
    boards, runs = [], []
    for seed in payload["seeds"]:
        request = request_of(payload, seed)
        own = {chunk: chunks[f"{seed}/{chunk}"] for chunk in request.chunks}
        boards.append(request.combine({chunk: request.loaded(one) for chunk, one in own.items()}).board)
        manifest = own[request.chunks[0]].manifest
        runs.append({"seed": seed, "data": manifest["data"], "query_accuracy": manifest["query_accuracy"]})
    return Output({"board": over_seeds(boards).assign(model=_title(payload["settings"]["source"]))}, manifest={
        "spec": payload["settings"], "runs": runs, "device": manifest["device"]})


def over_seeds(boards: list[pd.DataFrame]) -> pd.DataFrame:
    """A row a cell: the mean of the seeds' means with its 95% t interval over seeds, of a single seed that over its
    queries, and the mean of the intervals over queries and over the draw of subsets. note: of the first seed that has
    one."""
    rows = []
    for names, own in pd.concat(boards).groupby(KEYS, sort=False, dropna=False):
        queries = known_mean(own["ci95"])
        rows.append({**dict(zip(KEYS, names, strict=True)), **seed_means.summary(own["mean"]),
                     **({"ci95": queries} if len(boards) == 1 else {}),
                     "n_queries": int(own["n_queries"].iloc[0]), "n_dropped": int(own["n_dropped"].sum()),
                     "ci95_queries": queries, "ci95_subsets": known_mean(own["ci95_subsets"]),
                     "note": next(filter(None, own["note"]), "")})
    return pd.DataFrame(rows)


def _title(source: Mapping[str, Any]) -> str:
    parsed = ProblemSource.parse(source)
    return f"{model_title(parsed.model)}, {data.title(parsed.dataset)}, {parsed.n_train:,} training examples"


STUDY = study("leaderboards", plan, run_chunk, finish, weight)
LEADERBOARD = Experiment(
    "leaderboard", "Leaderboard: every method under its own question, the others, LDS, tail patch, removal, time and "
    "memory", STUDY.name, PRESETS, lambda tables: tables["board"], tuple(KEYS), None,
    "Not in the paper. Means over queries of a seed, then over seeds, ± over seeds (over queries if there is one "
    "seed). `agreement` is Kendall's τ with the exact answer of the question in `against`; `own` marks the question "
    "that a method answers. Rows of `another_seed` hold the values of the exact answer with another training seed. "
    "CPU seconds and memory are those of one thread of the machine named here, with nothing shared between methods.")
