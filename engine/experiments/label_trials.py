r"""What the trial, verified rows and right labels add to the search for wrong labels, on the sets of `label_methods`.

The right label is given of 100 random rows, or of a fifth of a smaller set. Every method is measured on the other rows.

    Recommended by the trial          the trial of the page, `engine.applications.noisy_labels.planted`
    Best by hindsight                 the method whose AUPRC is largest
    Refit and self-influence          −log r(k) − (1 − a) log s(k), with the ranks r by reweighted refit, s by
                                      self-influence by removal; a is how many labels the held-out models predict
    … with verified rows              the same method, searching with the right labels of these rows
    Trained on right labels           self-confidence by held-out models that are trained on the right label of every
                                      row: what these features tell of the given ones

Beside the means stands the paired difference from the best of cleanlab's three on the set, with its interval over
seeds: for methods with verified rows from the best of cleanlab's with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.noisy_labels import planted
from engine.applications.noisy_labels.detectors import probabilities, refitted
from engine.applications.noisy_labels.detectors.methods import DETECTORS
from engine.applications.noisy_labels.feature_readings import FeatureReadings
from engine.applications.noisy_labels.pairs import CONSENSUS, Pair
from engine.basics.provenance import device_name
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.label_methods import BEYOND, CLEANLAB, RECOMMENDED, searched, sets, tried
from engine.experiments.label_sets import LabelSet, load
from engine.experiments.study import measures, study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.metrics.detection import auprc
from engine.metrics.ranking import ranks
from engine.store.results import Result

ROWS, VERIFIED = 1_500, 100
REFIT = DETECTORS["refitted"].title
HINDSIGHT, BOTH, RIGHT = "Best by hindsight", "Refit and self-influence", "Trained on right labels"
WITH = ", with verified rows"
THEIRS = tuple(DETECTORS[name].title for name in CLEANLAB)
SETTINGS = {"numerics": 2, "verified": VERIFIED, "sets": sets(ROWS),
            "sources": [{"dataset": "cifar10"}, {"dataset": "fashion_small"}, {"dataset": "digits"}]}
PRESETS = {"small": StudyPreset("small", f"{ROWS:,} images of CIFAR-10N and 2,000 of FashionMNIST by pretrained "
                                         "features, 1,297 digits, three tables", 3, SETTINGS)}


def plan(payload: Mapping[str, Any]) -> list[str]:
    return [f"{seed}/{title}" for seed in payload["seeds"] for title in payload["settings"]["sets"]]


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds on two CPU cores."""
    return 15.0 if payload["settings"]["sets"][key.partition("/")[2]].get("pretrained") else 3.0


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """AUPRC by every method, of one set and seed."""
    number, _, title = key.partition("/")
    seed, settings = int(number), payload["settings"]
    given = load(settings["sets"][title], seed, context.computing("reading features", 0.5))
    rows = np.random.default_rng([seed, 11]).permutation(len(given.labels))
    rest = rows[min(settings["verified"], len(rows) // 5):]
    suspicion, _, readings = searched(given, given.labels, seed, context)
    table = tried(given, readings, seed, context)
    measured = {pair.method: auprc(given.noisy[rest], values[rest]) for pair, values in suspicion.items()}
    best = max(measured, key=lambda method: measured[method])
    measured |= {HINDSIGHT: measured[best], RECOMMENDED.method: measured[table.loc[0, "method"]]}
    more = {**_verified(given, np.setdiff1d(rows, rest), seed), BOTH: _both(suspicion, readings),
            RIGHT: _of_right_labels(given, seed)}
    weighted = planted.consensus(suspicion, table)
    if weighted is not None:
        more[CONSENSUS.method] = weighted
    measured |= {method: auprc(given.noisy[rest], values[rest]) for method, values in more.items()}
    return Output({"measures": pd.DataFrame(measured.items(), columns=["method", "value"])}, manifest={
        "data": given.fingerprint, "device": device_name(context.device), "best": best,
        "recommended": str(table.loc[0, "method"])})


def _both(suspicion: Mapping[Pair, np.ndarray], readings: FeatureReadings) -> np.ndarray:
    agreement = (readings.probabilities.argmax(1) == readings.labels).mean()
    refit, influence = (ranks(suspicion[Pair(DETECTORS[name].title)]) for name in ("refitted", "self_influence"))
    return -np.log(refit) - (1 - agreement) * np.log(influence)


def _verified(given: LabelSet, rows: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """cleanlab's three and reweighted refit, searching with the right labels of some rows."""
    labels = np.array(given.labels)
    labels[rows] = given.right[rows]
    readings = FeatureReadings(given.features, labels, given.classes, seed, given.pictures)
    scores = {DETECTORS[name].title: DETECTORS[name].suspicion(readings) for name in CLEANLAB}
    return {method + WITH: values for method, values in {**scores, REFIT: refitted.suspicion(readings)}.items()}


def _of_right_labels(given: LabelSet, seed: int) -> np.ndarray:
    readings = FeatureReadings(given.features, given.right, given.classes, seed, given.pictures)
    return probabilities.self_confidence(given.labels, readings.probabilities)


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Means and 95% t-intervals over seeds, and the paired difference from cleanlab's best."""
    return measures(payload, chunks, {title: {"set": title} for title in payload["settings"]["sets"]}, _rows,
                    ("data", "best", "recommended"), "scikit-learn", "cleanlab")


def _rows(by_seed: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """by_seed: a row a method, a column a seed."""
    best = {given: by_seed.loc[by_seed.loc[[name + given for name in THEIRS]].mean(axis=1).idxmax()]
            for given in ("", WITH)}
    for method, values in by_seed.iterrows():
        known = WITH if str(method).endswith(WITH) else ""
        for metric, own in (("AUPRC", values), (BEYOND, values - best[known])):
            yield {"method": method, "metric": metric, **seed_means.summary(own.dropna())}


STUDY = study("label_trials", plan, run_chunk, finish, weight)
LABEL_TRIALS = Experiment(
    "label-trials", "What the trial, verified rows and right labels add to the search for wrong labels", STUDY.name,
    PRESETS, lambda tables: tables["measures"].reset_index(drop=True), ("set", "method", "metric"),
    note="A check of our own, not in the paper. cleanlab runs on the same features.")
