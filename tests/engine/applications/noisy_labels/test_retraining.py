"""Removal and relabelling: shared runs, weights by hand, what is refused, and accuracy before and after."""

import numpy as np
import pytest
import torch

from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.retraining import (
    RetrainingRequest,
    WhatIfRequest,
    most_suspicious,
    retrained_accuracy,
)
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.basics.errors import InvalidInput
from engine.jobs import job_digest, run_job
from engine.models.training import train
from tests.engine.applications.noisy_labels.sources import drawn, source
from tests.engine.requests_for_tests import retraining_payload, suspicion_payload, what_if_payload


def test_the_same_removal_is_the_same_run_in_any_order():
    first = retraining_payload(source(), [5, 3, 5], {2: 1, 1: 0})
    second = retraining_payload(source(), np.array([3, 5]), {1: 0, 2: 1})
    assert job_digest(RetrainingRequest.name, first) == job_digest(RetrainingRequest.name, second)
    assert first != retraining_payload(source(seed=1), [3, 5], {1: 0, 2: 1})


def test_removal_is_training_with_weight_zero_and_relabelling_with_the_other_label():
    data = drawn(model="mlp")
    y, weights = torch.tensor(data.evidence.y), torch.ones(len(data.evidence.y))
    weights[[4, 7]] = 0
    y[9] = 3
    recipe = data.source.recipe.model_copy(update={"checkpoints": 0})
    expected = train(data.build, torch.tensor(data.evidence.x), y, recipe, 0, weights=weights).module
    said = expected(torch.tensor(data.x_test)).argmax(-1).numpy()
    found = retrained_accuracy(data, [4, 7], {9: 3})
    assert found == (said == data.y_test).mean()


def test_nothing_changed_is_the_model_itself():
    data = drawn(model="mlp")
    assert retrained_accuracy(data, [], {}) == data.train().accuracy(data.x_test, data.y_test)


@pytest.mark.parametrize(("removed", "relabelled", "said"), [
    ([10_000], {}, "no training example 10000; the review may be of another"), ([], {3: 10}, "no such class"),
    (range(150), {}, "Only examples of one class would remain")])
def test_what_is_refused(removed, relabelled, said):
    with pytest.raises(InvalidInput, match=said):
        retrained_accuracy(drawn(model="mlp"), list(removed), relabelled)


def test_the_most_suspicious_share():
    assert list(most_suspicious(np.array([1.0, 3, 2, 3]), 0.5)) == [1, 3]
    assert list(most_suspicious(np.array([1.0, 3, 2, 3]), 0.001)) == [1]


def test_what_if_over_seeds(tmp_path):
    asked = what_if_payload(source(model="mlp"), [1, 2, 3], {5: 2}, seeds=2)
    result = run_job(WhatIfRequest.name, asked, tmp_path)
    table = result.table("accuracy").set_index("what")
    before, after, change = ([float(v) for v in table.loc[part, "seed_means"].split()] for part in
                             ("before", "after", "change"))
    np.testing.assert_allclose(change, np.subtract(after, before), atol=1e-6)
    assert before[0] == pytest.approx(drawn(model="mlp").train().accuracy(drawn().x_test, drawn().y_test), abs=1e-6)
    assert table.loc["change", "ci95"] == pytest.approx(12.706 * np.std(change, ddof=1) / np.sqrt(2), rel=1e-3)


def test_a_scores_run_is_stored_and_loaded(tmp_path):
    asked = suspicion_payload(source(model="mlp"), ("random", "repsim", "gradsim"))
    scored = SuspicionRequest.loaded(run_job(SuspicionRequest.name, asked, tmp_path))
    assert list(scored.suspicion) == [Pair("Random"), Pair("RepSim"), *(Pair("GradSim", title) for title in
                                                                       ("Trusted loss", "Target logit", "Hard margin"))]
    data = drawn(model="mlp")
    p = data.train().logits.softmax(-1).numpy()
    np.testing.assert_array_equal(scored.predicted, p.argmax(1))
    np.testing.assert_allclose(scored.own, p[np.arange(len(p)), data.evidence.y], rtol=1e-6)
    assert scored.facts["data"] == data.fingerprint and scored.nearest.shape == (150, 3)
    assert "flags" not in str(asked)
