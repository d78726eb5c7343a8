"""The job of the approximations of a training run: what it leaves is what the analysis finds, or why there is none."""

import pandas as pd
import pytest

from engine.analysis.run_errors import run_errors
from engine.desk import Desk, Waiting
from engine.desk.run_errors import asked_run_errors
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.question.processes import Replay
from engine.runs import run_errors as runs

SOFTMAX = ProblemSource(dataset="digits", n_train=20, n_test=20, n_queries=2, n_candidates=3, l2=1.0)
PROCESS = Replay(eta=0.5, steps=9)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: None)


def test_the_job_finds_what_the_analysis_finds():
    waiting = asked_run_errors(Desk(), SOFTMAX, "soft_margin", 2, PROCESS)
    assert isinstance(waiting, Waiting) and "examples: 2" in waiting.what
    run_job(runs.KIND, runs.payload(SOFTMAX, "soft_margin", 2, PROCESS))
    found = asked_run_errors(Desk(), SOFTMAX, "soft_margin", 2, PROCESS)
    problem = SOFTMAX.build().problem
    direct = run_errors(problem.with_candidates(problem.candidates[:2]), "soft_margin", PROCESS)
    for name in runs.TABLES:
        pd.testing.assert_frame_equal(getattr(found, name), getattr(direct, name), rtol=1e-6)
    assert found.sentence == direct.sentence


def test_a_run_without_a_derivative_says_why():
    process = Replay(eta=50, steps=2_000)
    run_job(runs.KIND, runs.payload(SOFTMAX, "query_loss", 1, process))
    assert "diverged" in asked_run_errors(Desk(), SOFTMAX, "query_loss", 1, process)
