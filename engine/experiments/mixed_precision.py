r"""Does training in bfloat16 change who is blamed? τ between precisions beside τ between seeds.

A network is trained on labels of which a fixed share is wrong, once in float32 and once with mixed precision from the
same seed, so from the same weights in the same batches. Every method ranks the training examples by suspicion after
both. Three agreements of two rankings stand beside each other, method by method:

    mixed against full   the same seed in both precisions
    full, another seed   float32, every seed against the next: how far a ranking depends on the seed anyway
    mixed, another seed  the same with mixed precision

Scores themselves are computed in float32 after either training. On a device that does not gain from bfloat16 there is
nothing to compare, and the run says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.pairs import Pair, pairs_of
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.errors import InvalidInput
from engine.basics.noted import KEY
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.noisy_labels import cost, sources
from engine.experiments.study import study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.metrics.agreement import METRICS, pairwise
from engine.metrics.detection import detection
from engine.models.recipe import Recipe
from engine.store.results import Result

NUMERICS = 1
FULL, MIXED = "full", "mixed"
METHODS = ("repsim", "ntk", "gradsim", "tracin", "lissa")
COMPARED = ("kendall_tau", "top_overlap")
RECIPE = Recipe(epochs=12, batch_size=64, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                checkpoints=4)
PRESETS = {"small": StudyPreset(
    "small", "CIFAR-10 averaged to 16×16 pixels, 2,000 training and 500 trusted examples, a ResNet-18 of a quarter of "
    "its width", 3, {"numerics": NUMERICS, "methods": list(METHODS), "sources": sources(
        {"dataset": "cifar10", "n_train": 2_000, "n_test": 2_000, "trusted": 50, "pool": 2,
         "model": "resnet18_quarter_cifar", "recipe": RECIPE})})}


def plan(payload: Mapping[str, Any]) -> list[str]:
    """Mixed precision first, so that a device without it is found out at once. Raises `InvalidInput` for one seed."""
    if len(payload["seeds"]) < 2:
        raise InvalidInput("Agreement between seeds needs at least two seeds; give two or more.")
    return [f"{precision}/{seed}" for seed in payload["seeds"] for precision in (MIXED, FULL)]


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds; mixed precision takes about half of them."""
    return cost(payload["settings"]["sources"][0]) * (0.5 if key.startswith(MIXED) else 1.0)


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """Suspicion of every pair after one training. Raises `InvalidInput` where mixed precision ran in float32."""
    precision, seed = key.split("/")
    source = NoisySource.parse({**payload["settings"]["sources"][0], "seed": int(seed)})
    source = source.model_copy(update={"recipe": source.recipe.model_copy(update={"precision": precision})})
    result = SuspicionRequest(source=source, methods=payload["settings"]["methods"]).within(context)
    notes = result.manifest.get(KEY, [])
    if precision == MIXED and not any(said.startswith("bfloat16") for said in notes):
        raise InvalidInput("This device trains in float32 even if mixed precision is requested, so there is nothing "
                           "to compare; run it on a GPU or on a CPU that is faster in bfloat16.")
    scored, flags = SuspicionRequest.loaded(result), draw_cached(source).known_flags
    suspicions = {pair: scored.suspicion[pair] for pair in pairs_of(tuple(payload["settings"]["methods"]))}
    auprc = {pair.title: detection(flags.noisy, suspicion)["AUPRC"] for pair, suspicion in suspicions.items()}
    return Output(arrays={"suspicion": np.stack(list(suspicions.values()))},
                  manifest={"facts": scored.facts, "auprc": auprc, "trained in": notes, "run": result.digest})


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Means and 95% t-intervals of every agreement, over seeds."""
    seeds = payload["seeds"]
    held = {key: chunks[key].array("suspicion") for key in plan(payload)}
    rows: list[dict[str, Any]] = []
    for title, couples in _couples(seeds).items():
        agreements = [_agreement(held[a], held[b]) for a, b in couples]
        for index, pair in enumerate(pairs_of(tuple(payload["settings"]["methods"]))):
            rows += [_row(pair, title, metric, [one[metric][index] for one in agreements]) for metric in COMPARED]
    manifests = {key: chunks[key].manifest for key in plan(payload)}
    first = manifests[plan(payload)[0]]["facts"]
    return Output({"agreement": pd.DataFrame(rows)}, manifest={
        "spec": payload["settings"], "data": first["data"], "device": first["device"],
        "runs": [{"seed": int(key.split("/")[1]), "precision": key.split("/")[0], "trained in": one["trained in"],
                  "test_accuracy": one["facts"]["test_accuracy"], "auprc": one["auprc"], "run": one["run"]}
                 for key, one in manifests.items()]})


def _couples(seeds: Sequence[int]) -> dict[str, list[tuple[str, str]]]:
    """The two chunks of every agreement."""
    return {"mixed against full": [(f"{MIXED}/{seed}", f"{FULL}/{seed}") for seed in seeds],
            **{f"{precision}, another seed": [(f"{precision}/{a}", f"{precision}/{b}") for a, b in _following(seeds)]
               for precision in (FULL, MIXED)}}


def _following(seeds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Every seed and the next, the last and the first; no two alike."""
    couples = zip(seeds, [*seeds[1:], seeds[0]], strict=True)
    return iter(list(couples)[:1 if len(seeds) == 2 else None])


def _agreement(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """metric -> (pairs,) of suspicions (pairs, n), each over all n training examples."""
    return {name: values[0, 1] for name, values in pairwise(np.stack([a, b]), COMPARED).items()}


def _row(pair: Pair, comparison: str, metric: str, values: Sequence[float]) -> dict[str, Any]:
    return {"method": pair.method, "behavior": pair.behavior, "comparison": comparison,
            "metric": METRICS[metric].title, **seed_means.summary(values)}


STUDY = study("mixed_precision", plan, run_chunk, finish, weight)
MIXED_PRECISION = Experiment(
    "mixed-precision", "Mixed precision: rankings after training in bfloat16 and in float32", STUDY.name, PRESETS,
    lambda tables: tables["agreement"].reset_index(drop=True), ("method", "behavior", "comparison", "metric"),
    note="A check of our own, not in the paper: if “mixed against full” is above “full, another seed”, training in "
         "bfloat16 changes a ranking less than another seed does.")
