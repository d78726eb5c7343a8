"""The comparison of methods that find wrong labels: its sets, its measures, and the paired difference from cleanlab."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from engine.applications.noisy_labels.pairs import CONSENSUS, Pair
from engine.basics.options import Options
from engine.experiments import label_methods, label_sets
from engine.metrics.detection import detection

CONTEXT = SimpleNamespace(check=lambda: None, progress=lambda *_: None, device="cpu",
                          computing=lambda *_: Options())


@pytest.fixture(scope="module")
def measured():
    """One seed of wine's table with a tenth of its labels flipped."""
    payload = {"settings": label_methods.settings(100), "seeds": [0]}
    return label_methods.run_chunk(payload, "0/Wine, symmetric", CONTEXT)


def test_every_method_the_trial_and_the_consensus_are_measured(measured):
    table = measured.tables["measures"]
    own = table[table["metric"] == "AUPRC"].set_index("method")["value"]
    assert measured.manifest["labels"] == 178 and measured.manifest["wrong"] == 18
    assert own[label_methods.RECOMMENDED.method] == own[measured.manifest["recommended"]]
    assert {CONSENSUS.method, "Reweighted refit", "Confident learning"} <= set(own.index)
    assert own["Reweighted refit"] > 0.8 and own.max() <= 1
    seconds = table[table["metric"] == label_methods.SECONDS]
    assert (seconds["value"] >= 0).all() and len(seconds) == len(own) - 2


def test_sets_of_a_seed_are_the_same_and_of_another_are_not():
    setting = label_methods.sets(100)["Digits, confusing"] | {"rows": 200}
    first, again, other = (label_sets.load(setting, seed, Options()) for seed in (0, 0, 1))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.noisy.sum() == 20 and np.array_equal(first.features, other.features)


def test_precision_is_at_what_confident_learning_reports():
    noisy = np.array([True, False, True, False, False])
    suspicion = {Pair("Confident learning"): np.array([1.9, 1.2, 0.5, 0.4, 0.3]),
                 Pair("Other"): np.array([5.0, 1.0, 4.0, 0.0, 2.0])}
    table = label_methods._measures(suspicion, noisy, {"Other": 2.5}).set_index(["method", "metric"])["value"]
    assert table["Confident learning", label_methods.REPORTED] == 0.5 and table["Other", label_methods.REPORTED] == 1
    assert table["Other", label_methods.SECONDS] == 2.5
    assert table["Other", "AUPRC"] == detection(noisy, suspicion[Pair("Other")])["AUPRC"]


def test_the_difference_is_paired_with_the_best_of_cleanlab():
    values = {"Confident learning": (0.4, 0.5), "Self-confidence": (0.5, 0.7), "Normalised margin": (0.6, 0.5),
              "Other": (0.6, 0.75)}
    tables = pd.DataFrame([{"method": method, "behavior": "none", "metric": "AUPRC", "seed": seed, "value": one}
                           for method, both in values.items() for seed, one in enumerate(both)])
    rows = {row["method"]: row["mean"] for row in label_methods._rows(tables.pivot_table(
        index=["method", "behavior", "metric"], columns="seed", values="value", sort=False))
            if row["metric"] == label_methods.BEYOND}
    assert rows["Other"] == pytest.approx(0.075) and rows["Self-confidence"] == 0
