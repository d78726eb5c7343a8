"""The job that checks a derivative of a training: what it leaves is what the check finds, or why there is none."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.linear_range import LinearRangeRequest
from engine.desk import Desk, Waiting
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.question.processes import Replay

NETWORK = ProblemSource(dataset="digits", model="mlp", n_train=20, n_test=20, n_queries=2, n_candidates=3,
                        recipe={"epochs": 1, "batch_size": 10, "learning_rate": 0.05})
SOFTMAX = ProblemSource(dataset="digits", n_train=20, n_test=20, n_queries=2, n_candidates=3, l2=1.0)
PROCESS = Replay(eta=0.5, steps=9)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: None)
    return tmp_path


@pytest.mark.parametrize("source", [NETWORK, SOFTMAX], ids=["network", "softmax"])
def test_the_job_finds_what_the_check_finds(source):
    desk = Desk()
    request = LinearRangeRequest(behavior="soft_margin", candidates=2, process=PROCESS)
    waiting = desk.ask(request.of(source))
    assert isinstance(waiting, Waiting) and "tried: 2" in waiting.what
    run_job(request.name, request.of(source).payload)
    found = desk.ask(request.of(source))
    direct = request.run(source.build().problem)
    order = ["candidate", "epsilon"]
    pd.testing.assert_frame_equal(found.errors.sort_values(order, ignore_index=True),
                                  direct.errors.sort_values(order, ignore_index=True), rtol=1e-3)
    assert dict(found.smoothness) == pytest.approx(dict(direct.smoothness)) and found.knobs == direct.knobs
    assert found.precision == pytest.approx(direct.precision, rel=0.5, nan_ok=True)
    assert np.isnan(found.precision) == (source is SOFTMAX) and found.behavior == "soft_margin"


def test_a_run_without_a_derivative_says_why():
    process = Replay(eta=50, steps=200)
    request = LinearRangeRequest(candidates=1, process=process)
    run_job(request.name, request.of(SOFTMAX).payload)
    assert "diverged" in Desk().ask(request.of(SOFTMAX))


def test_no_more_candidates_are_tried_than_are_drawn():
    assert "tried: 3" in Desk().ask(LinearRangeRequest(candidates=10, process=PROCESS).of(SOFTMAX)).what
