"""Whether a run is large enough to show an effect: rankings of chance are not, and those that find something are."""

import numpy as np
import pandas as pd
import pytest

from engine.applications.language.detection import detection
from engine.experiments.enough import PublishedEvidence, detects_corruption, learned_classes
from engine.metrics import seed_means
from engine.models.catalogue import model_title

TASK = {"clean": 240, "answer": 30, "rationale": 30}
RANKINGS = 20


def evidence(lift, seeds=2):
    """A published table where the records of kind `lift` stand so much higher in one ranking, all else by chance."""
    rng = np.random.default_rng(0)
    flags = {"answer": np.arange(300) < 30, "rationale": np.arange(300) >= 270}
    rows = []
    for kind, flagged in flags.items():
        for method in ("Random", *(f"method {number}" for number in range(RANKINGS))):
            found = [rng.normal(size=300) + flagged * lift.get(kind, 0) * (method == "method 7") for _ in range(seeds)]
            measured = [detection(flagged, scores) for scores in found]
            rows += [{"corruption": kind, "method": method, "metric": metric,
                      **seed_means.summary(each[metric] for each in measured)}
                     for metric in ("AUPRC", "AUROC")]
    return PublishedEvidence(pd.DataFrame(rows), {"spec": {"settings": {"task": TASK}}})


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_rankings_by_chance_find_nothing(seeds):
    assert detects_corruption(evidence({}, seeds)) == (
        "no ranking finds the records with a wrong answer or rationale better than chance.")


@pytest.mark.parametrize("seeds", [1, 2])
def test_each_kind_has_to_be_found(seeds):
    assert detects_corruption(evidence({"answer": 2, "rationale": 2}, seeds)) == ""
    assert "wrong rationale better" in detects_corruption(evidence({"answer": 2}, seeds))


def runs(*accuracies):
    """A published table of networks, each with its model and accuracy in every seed."""
    return PublishedEvidence(pd.DataFrame(), {"runs": [
        {"source": {"model": model, "dataset": "digits", "seed": seed}, "test_accuracy": accuracy}
        for model, own in accuracies for seed, accuracy in enumerate(own)]})


def test_a_network_below_one_half_does_not_hide_behind_another():
    good, poor = ("cnn", (0.9, 0.94)), ("mobilenet_v2_quarter_cifar", (0.42, 0.46))
    assert learned_classes(runs(good)) == learned_classes(PublishedEvidence(pd.DataFrame(), {})) == ""
    assert learned_classes(runs(good, poor)) == (
        f"the model ({model_title(poor[0])}) reads 44% of the test examples correctly, less than half.")
    assert learned_classes(runs(poor)) == "the model reads 44% of the test examples correctly, less than half."
    assert learned_classes(runs(("cnn", (0.45, 0.6)))) == "", "the mean over its runs"
