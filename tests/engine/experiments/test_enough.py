"""Whether a run is large enough to show an effect: rankings of chance are not, and those that find something are."""

import numpy as np
import pandas as pd
import pytest

from engine.applications.language.detection import detection
from engine.experiments.enough import PublishedEvidence, detects_corruption
from engine.metrics import seed_means

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
