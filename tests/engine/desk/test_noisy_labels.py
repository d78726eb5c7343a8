"""Searches for noisy labels: runs and results of the desk's own folder."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine.applications.noisy_labels.consensus import voting
from engine.applications.noisy_labels.pairs import MAIN, Pair, pairs_of
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.desk import Desk, noisy_labels
from engine.jobs import job_digest
from engine.store.results import Store
from tests.engine.requests_for_tests import suspicion_payload

SOURCE = NoisySource(dataset="digits", n_train=40, n_test=20)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A desk whose folder is not that of the environment, and no worker."""
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: False)
    return Desk(root=tmp_path / "elsewhere")


def test_a_run_is_looked_for_where_the_desk_keeps_it(own):
    assert noisy_labels.scored(own, SOURCE) is None and noisy_labels.under_way(own, SOURCE) is None
    noisy_labels.start_search(own, SOURCE)
    assert noisy_labels.under_way(own, SOURCE).job == job_digest(SuspicionRequest.name, suspicion_payload(SOURCE))
    assert noisy_labels.scored(own, SOURCE) is None


def test_a_stopped_run_is_still_one_to_wait_for_until_it_is_taken_up(own):
    noisy_labels.start_search(own, SOURCE)
    job = noisy_labels.under_way(own, SOURCE).job
    own.jobs.queue.request_cancel(job)
    assert noisy_labels.under_way(own, SOURCE).job == job and not own.jobs.queue.get(job).active
    noisy_labels.start_search(own, SOURCE)
    assert own.jobs.queue.get(job).active


@pytest.mark.parametrize("model, learned", [("resnet18_cifar", True), ("cnn", False)])
def test_votes_are_those_of_such_a_training(tmp_path, model, learned):
    pairs = pairs_of(MAIN)
    arrays = {"suspicion": np.zeros((len(pairs), 4)), "nearest": np.zeros((4, 3)),
              **{name: np.zeros(4) for name in ("predicted", "probability", "own")}}
    scored = SuspicionRequest.loaded(Store(tmp_path).write("0" * 64, {
        "pairs": [list(pair) for pair in pairs], "source": {"model": model},
        "facts": {"observed_accuracy": 1.0, "test_accuracy": 0.6}}, {}, arrays))
    assert scored.by_heart == learned == (Pair("LiSSA", "Trusted loss") in voting(scored.suspicion, scored.by_heart))
    assert noisy_labels.recommended(SimpleNamespace(flags=None), scored) is None


def test_a_trial_is_waited_for_where_it_was_asked_for(own):
    request = noisy_labels.TrialRequest(source=SOURCE)
    assert own.known(request) is None
    own.start(request)
    assert "Which method finds wrong labels" in own.jobs.queue.get(own.known(request).job).title
