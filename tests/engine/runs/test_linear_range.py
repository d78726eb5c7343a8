"""The job that checks a derivative of a training: what it leaves is what the check finds, or why there is none."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.linear_range import linear_range
from engine.desk import Desk, Waiting
from engine.desk.linear_range import asked_linear_range
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.question.processes import Replay
from engine.runs import linear_range as runs

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
    waiting = asked_linear_range(desk, source, "soft_margin", 2, PROCESS)
    assert isinstance(waiting, Waiting) and "tried: 2" in waiting.what
    run_job(runs.KIND, runs.payload(source, "soft_margin", 2, PROCESS))
    found = asked_linear_range(desk, source, "soft_margin", 2, PROCESS)
    problem = source.build().problem
    direct = linear_range(problem.with_candidates(problem.candidates[:2]), "soft_margin", process=PROCESS)
    order = ["candidate", "epsilon"]
    pd.testing.assert_frame_equal(found.table.sort_values(order, ignore_index=True),
                                  direct.table.sort_values(order, ignore_index=True), rtol=1e-3)
    assert found.smoothness == pytest.approx(direct.smoothness) and found.knobs == direct.knobs
    assert found.precision == pytest.approx(direct.precision, rel=0.5, nan_ok=True)
    assert np.isnan(found.precision) == (source is SOFTMAX) and found.behavior == "soft_margin"


def test_a_run_without_a_derivative_says_why():
    process = Replay(eta=50, steps=2_000)
    run_job(runs.KIND, runs.payload(SOFTMAX, "query_loss", 1, process))
    assert "diverged" in asked_linear_range(Desk(), SOFTMAX, "query_loss", 1, process)


def test_no_more_candidates_are_tried_than_are_drawn():
    assert "tried: 3" in asked_linear_range(Desk(), SOFTMAX, "query_loss", 10, PROCESS).what
