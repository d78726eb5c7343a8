r"""Methods that find wrong labels, side by side: human labels, planted noise, tables; logistic regression and a CNN.

Every method reads the same features of the same rows, so that differences are those of methods. cleanlab's three run
beside them, by cleanlab itself. No label is trusted. Over seeds the folds, the training and, where noise is planted,
the noise change; human labels stay. Beside the means stands the paired difference from the best of cleanlab's by its
mean AUPRC on the set, with its interval over seeds.

The trial plants wrong labels in the observed ones, as on the page (`engine.applications.noisy_labels.planted`); the
method that finds most of them is the one that is recommended, and weighs the consensus. It sees nothing of which labels
are wrong.

    P@reported     precision at as many labels as confident learning reports
    CPU seconds    of the method alone, with the models that it reads, and without the features
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.noisy_labels import planted
from engine.applications.noisy_labels.detectors.methods import DETECTORS, HELD_OUT, REFITTED
from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.feature_readings import FeatureReadings
from engine.applications.noisy_labels.pairs import CONSENSUS, METHODS, Pair, usual
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.provenance import device_name
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.label_sets import LabelSet, load
from engine.experiments.study import measures, study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.metrics.detection import detection
from engine.models.recipe import Recipe
from engine.store.results import Result

NUMERICS = 3
CLEANLAB = ("confident", "self_confidence", "normalized_margin")
RECOMMENDED = Pair("Recommended by the trial")
SECONDS, REPORTED, BEYOND = "CPU seconds", "P@reported", "AUPRC beyond cleanlab"
CNN = Recipe(epochs=10, batch_size=32, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
             checkpoints=4)


def sets(rows: int) -> dict[str, dict[str, Any]]:
    """Title -> setting; rows: of CIFAR-10N."""
    human = {f"CIFAR-10N {kind}": {"data": "cifar10", "human": kind, "rows": rows, "pretrained": True}
             for kind in ("aggregate", "random_1", "worst")}
    pictures = {f"{title}, {noise}": {"data": name, "noise": noise, "rate": 0.1, "rows": count, "pretrained": read}
                for title, name, count, read in (("FashionMNIST", "fashion_small", 2_000, True),
                                                       ("Digits", "digits", 1_297, False))
                for noise in ("symmetric", "confusing")}
    tables = {f"{title}, symmetric": {"data": name, "noise": "symmetric", "rate": 0.1}
              for title, name in (("Wine", "wine"), ("Breast cancer", "breast_cancer"),
                                  ("Generated table", "generated"))}
    return {**human, **pictures, **tables}


def settings(rows: int) -> dict[str, Any]:
    network = NoisySource(dataset="digits", n_train=600, trusted_from="cross-validation", folds=4, noise=0.1,
                          model="cnn", recipe=CNN).model_dump(mode="json")
    return {"numerics": NUMERICS, "sets": sets(rows),
            "network": {"title": "Digits, a CNN end to end", "source": network},
            "sources": [{"dataset": "cifar10"}, {"dataset": "fashion_small"}, {"dataset": "digits"}]}


PRESETS = {name: StudyPreset(name, f"{rows:,} images of CIFAR-10N by pretrained features, 2,000 of FashionMNIST, "
                                   "1,297 digits, three tables", seeds, settings(rows))
           for name, rows, seeds in (("small", 4_000, 5), ("large", 10_000, 5))}


def plan(payload: Mapping[str, Any]) -> list[str]:
    titles = [*payload["settings"]["sets"], payload["settings"]["network"]["title"]]
    return [f"{seed}/{title}" for seed in payload["seeds"] for title in titles]


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds on two CPU cores."""
    return 20.0 * payload["settings"]["sets"].get(key.partition("/")[2], {}).get("rows", 1_000) / 6_000


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """Every measure of every method, of one set and seed."""
    seed, _, title = key.partition("/")
    if title == payload["settings"]["network"]["title"]:
        return _of_network({**payload["settings"]["network"]["source"], "seed": int(seed), "mask": int(seed)}, context)
    given = load(payload["settings"]["sets"][title], int(seed), context.computing("reading features", 0.5))
    suspicion, seconds, readings = searched(given, given.labels, int(seed), context)
    table = tried(given, readings, int(seed), context)
    suspicion[RECOMMENDED] = suspicion[Pair(*table.loc[0, ["method", "behavior"]])]
    weighted = planted.consensus(suspicion, table)
    if weighted is not None:
        suspicion[CONSENSUS] = weighted
    facts = {"data": given.fingerprint, "device": device_name(context.device), "labels": len(given.labels),
             "wrong": int(given.noisy.sum()), "recommended": str(table.loc[0, "method"])}
    return Output({"measures": _measures(suspicion, given.noisy, seconds)}, manifest=facts)


def searched(given: LabelSet, labels: np.ndarray, seed: int, context: Context
              ) -> tuple[dict[Pair, np.ndarray], dict[str, float], FeatureReadings]:
    """Suspicion by every method, its CPU seconds with what it reads, and what all of them read."""
    scores, seconds, start = {}, {}, time.process_time()
    readings = FeatureReadings(given.features, labels, given.classes, seed, given.pictures)
    _ = readings.probabilities
    held_out = time.process_time() - start
    for number, detector in enumerate(DETECTORS.values()):
        context.check()
        start = time.process_time()
        scores[Pair(detector.title)] = detector.suspicion(readings)
        seconds[detector.title] = time.process_time() - start + held_out * (detector.reads in (HELD_OUT, REFITTED))
        context.progress(number / len(DETECTORS), detector.title)
    return scores, seconds, readings


def tried(given: LabelSet, readings: FeatureReadings, seed: int, context: Context) -> pd.DataFrame:
    """`planted.measured` of every method: the trial of the page."""
    trial = planted.plant(given.labels, planted.opinions(readings), given.classes, seed)
    return planted.measured(searched(given, trial.labels, seed, context)[0], trial)


def _of_network(source: Mapping[str, Any], context: Context) -> Output:
    """The same of a network that is trained on pixels, with influence beside."""
    chosen = NoisySource.parse(source)
    result = SuspicionRequest(source=chosen, methods=usual(quick=True)).within(context)
    scored, noisy = SuspicionRequest.loaded(result), draw_cached(chosen).known_flags.noisy
    return Output({"measures": _measures(scored.suspicion, noisy, {})}, manifest={
        "data": scored.facts["data"], "device": scored.facts["device"], "labels": len(noisy),
        "wrong": int(noisy.sum()), "recommended": ""})


def _measures(suspicion: Mapping[Pair, np.ndarray], noisy: np.ndarray, seconds: Mapping[str, float]) -> pd.DataFrame:
    reported = max(1, int((suspicion[Pair(METHODS["confident"].title)] > 1).sum()))
    rows = []
    for pair, values in suspicion.items():
        first = np.argsort(-values, kind="stable")[:reported]
        measured = {**detection(noisy, values), REPORTED: float(noisy[first].mean())}
        if pair.method in seconds:
            measured[SECONDS] = seconds[pair.method]
        rows += [{"method": pair.method, "behavior": pair.behavior, "metric": metric, "value": value}
                 for metric, value in measured.items()]
    return pd.DataFrame(rows)


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Means and 95% t-intervals over seeds, and the paired difference from cleanlab's best."""
    titles = [*payload["settings"]["sets"], payload["settings"]["network"]["title"]]
    return measures(payload, chunks, {title: {"set": title} for title in titles}, _rows,
                    ("data", "labels", "wrong", "recommended"), "scikit-learn", "cleanlab")


def _rows(keyed: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Of one set: a row a method, behavior and metric."""
    auprc = keyed.xs("AUPRC", level="metric")
    theirs = [(METHODS[name].title, "none") for name in CLEANLAB]
    best = auprc.loc[max(theirs, key=lambda one: auprc.loc[one].mean())]
    for (method, behavior, metric), values in keyed.iterrows():
        yield {"method": method, "behavior": behavior, "metric": metric, **seed_means.summary(values.dropna())}
    for (method, behavior), values in auprc.iterrows():
        yield {"method": method, "behavior": behavior, "metric": BEYOND, **seed_means.summary((values - best).dropna())}


STUDY = study("label_methods", plan, run_chunk, finish, weight)
LABEL_METHODS = Experiment(
    "label-methods", "Methods that find wrong labels: human labels, planted noise, tables", STUDY.name, PRESETS,
    lambda tables: tables["measures"].reset_index(drop=True), ("set", "method", "behavior", "metric"),
    note="A check of our own, not in the paper. cleanlab runs on the same features.")
