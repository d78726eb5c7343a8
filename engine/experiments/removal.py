"""Removal utility: Table A-10 of the paper. The most suspicious examples are removed and the model trained again.

The change is in percentage points of test accuracy, against the same seed's model on all examples. A retraining is a
run of `engine.applications.noisy_labels.retraining`, shared by every pair and share that removes the same examples. As
the authors' code has it, training again is with seed 0 whatever the seed of the first model, so that the change also
holds what the seed makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.pairs import Pair, pairs_of
from engine.applications.noisy_labels.retraining import RetrainingRequest, most_suspicious
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.experiments.conventions import as_authors
from engine.experiments.enough import learned_classes
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.noisy_labels import (
    CIFAR,
    NUMERICS,
    OF_THE_PAPER,
    POOLED,
    SMALL_RECIPE,
    cost,
    methods_of,
    named_as_the_paper,
    source_of,
    sources,
    sources_of,
)
from engine.experiments.study import study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.metrics.detection import precision_title
from engine.store.results import Result

SHARES = (0.01, 0.05, 0.10)
METRIC = "Test accuracy change"
SCORING = 1.5
"""What the first training takes with its scores, in trainings."""
FASHION = {"dataset": "fashion_mnist", "n_train": 2_000, "trusted": 50, "pool": 2, "model": "mlp",
           "recipe": SMALL_RECIPE.model_copy(update={"epochs": 60, "weight_decay": 0.0})}
"""Long enough that wrong labels are memorised and cost accuracy, which their removal can then give back."""


def share_title(fraction: float) -> str:
    """`5%`, as the table writes it."""
    return precision_title(fraction).removeprefix("P@")


ORACLE = Pair("Oracle")
"""Removes labels that are wrong: what the best detection could reach."""
CHOSEN = (Pair("Random"), ORACLE, Pair("GradSim", "Hard margin"), Pair("GradSim", "Target logit"),
          Pair("TracIn", "Target logit"), Pair("TracIn", "Trusted loss"), Pair("LiSSA", "Hard margin"),
          Pair("LiSSA", "Target logit"))
"""Each estimator with the behavior that the paper prefers for its AUPRC, and with the one that is worst there."""


def settings(base: Mapping[str, Any]) -> dict[str, Any]:
    return {"numerics": NUMERICS, "methods": list(OF_THE_PAPER), "sources": sources(base), "shares": list(SHARES)}


PRESETS = {
    "small": StudyPreset("small", "FashionMNIST averaged to 14×14 pixels, 2,000 training and 500 trusted examples, a "
                         "two-layer network, 10,000 test examples", 3, settings(FASHION)),
    "desk": StudyPreset("desk", "The paper's 45,000 training and 5,000 trusted CIFAR-10 images, averaged to 16×16 "
                        "pixels, a ResNet-18 of a quarter of its width; removal at random, by an oracle, and by each "
                        "estimator's best and worst behavior in the paper", 3,
                        {**settings(POOLED), "rows": [list(pair) for pair in CHOSEN]}),
    "paper": StudyPreset("paper", "CIFAR-10 and ResNet-18 as in Table A-3", 3, settings(CIFAR))}


def rows(settings: Mapping[str, Any]) -> tuple[Pair, ...]:
    """What ranks what is removed: the rows that the settings name, or every pair of their methods."""
    named = settings.get("rows")
    return pairs_of(tuple(settings["methods"])) if named is None else tuple(Pair(*row) for row in named)


def plan(payload: Mapping[str, Any]) -> list[str]:
    return [f"{seed}/{index}/{number}" for seed in payload["seeds"] for index in range(len(rows(payload["settings"])))
            for number in range(len(payload["settings"]["shares"]))]


def weight(payload: Mapping[str, Any], key: str) -> float:
    return cost(sources_of(payload["settings"])[0], 1.0 + (SCORING if _scores(key) else 0.0))


def _scores(key: str) -> bool:
    """Whether a chunk is its seed's first, which trains and scores before it trains again."""
    return key.split("/")[1:] == ["0", "0"]


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """The accuracy before and after removing one pair's most suspicious share."""
    seed, index, number = map(int, key.split("/"))
    chosen = payload["settings"]
    source = source_of(chosen, 0, seed)
    pair, fraction = rows(chosen)[index], chosen["shares"][number]
    start = SCORING / (1.0 + SCORING) if _scores(key) else 0.0
    search = SuspicionRequest(source=source, methods=tuple(methods_of(chosen)))
    scored = search.loaded(search.within(context, end=start))
    flags = draw_cached(source).known_flags
    suspicion = known_wrong(flags.noisy, seed) if pair == ORACLE else named_as_the_paper(scored.suspicion)[pair]
    removed = most_suspicious(suspicion, fraction)
    again = source.model_copy(update={"seed": 0}) if as_authors(chosen) else source
    result = RetrainingRequest(source=again, removed=tuple(removed.tolist())).within(
        context, f"seed {seed}: {pair.title}, {share_title(fraction)} removed", start)
    return Output(manifest={"pair": list(pair), "share": share_title(fraction), "before": scored.facts["test_accuracy"],
                            "after": result.manifest["accuracy"], "removed": len(removed),
                            "wrong": int(flags.noisy[removed].sum()), "run": result.digest, "facts": scored.facts})


def known_wrong(wrong: np.ndarray, seed: int) -> np.ndarray:
    """(n,): the wrong labels first, in an order drawn from the seed."""
    return wrong + np.random.default_rng([seed, 12]).random(len(wrong)) / 2


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Means and 95% t-intervals of the change over training seeds."""
    by_row: dict[tuple[Pair, str], list[dict]] = {}
    for key in plan(payload):
        manifests = chunks[key].manifest
        by_row.setdefault((Pair(*manifests["pair"]), manifests["share"]), []).append(manifests)
    table = [{"method": pair.method, "behavior": pair.behavior, "topk": fraction, "metric": METRIC,
             **seed_means.summary([100 * (one["after"] - one["before"]) for one in manifests]),
             "wrong_removed": sum(one["wrong"] for one in manifests) / sum(one["removed"] for one in manifests)}
            for (pair, fraction), manifests in by_row.items()]
    manifests_by_run = {manifests["run"]: manifests for listed in by_row.values() for manifests in listed}
    first = next(iter(manifests_by_run.values()))["facts"]
    factual = {key.split("/")[0]: chunks[key].manifest["before"] for key in plan(payload)}
    return Output({"removal": pd.DataFrame(table)},
                  manifest={"spec": payload["settings"], "retrainings": len(manifests_by_run),
                            "runs": [{"seed": int(seed), "test_accuracy": value} for seed, value in factual.items()],
                            "device": first["device"], "data": first["data"]})


def tolerance(row: Mapping[str, str]) -> float:
    """Within 1.5 percentage points of the paper, whose own seeds differ by about one; set before anything ran."""
    return 1.5


STUDY = study("noisy_label_removal", plan, run_chunk, finish, weight)
TABLE_A10 = Experiment(
    "table-a10", "Table A-10: test accuracy after removal, ρ = 0.2", STUDY.name, PRESETS,
    lambda tables: tables["removal"].reset_index(drop=True), ("method", "behavior", "topk", "metric"),
    "table_a10_removal_utility_rho02.csv",
    "The noise floor is the row of random removal: compare every other row with it.", tolerance=tolerance,
    too_small=learned_classes)
