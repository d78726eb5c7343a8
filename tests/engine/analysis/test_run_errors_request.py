"""The job of the approximations of a training run: what it leaves is what the analysis finds, or why there is none."""

import pandas as pd
import pytest

from engine.analysis.run_errors import RunErrorsRequest
from engine.desk import Desk, Waiting
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.question.processes import Replay

SOFTMAX = ProblemSource(dataset="digits", n_train=20, n_test=20, n_queries=2, n_candidates=3, l2=1.0)
PROCESS = Replay(eta=0.5, steps=9)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: None)


def test_the_job_finds_what_the_analysis_finds():
    request = RunErrorsRequest(behavior="soft_margin", candidates=2, process=PROCESS)
    waiting = Desk().ask(request.of(SOFTMAX))
    assert isinstance(waiting, Waiting) and "examples: 2" in waiting.what
    run_job(request.name, request.of(SOFTMAX).payload)
    found, direct = Desk().ask(request.of(SOFTMAX)), request.run(SOFTMAX.build().problem)
    for name in ("causes", "methods", "parts"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(direct, name), rtol=1e-6)
    assert found.sentence == direct.sentence


def test_a_run_without_a_derivative_says_why():
    process = Replay(eta=50, steps=2_000)
    request = RunErrorsRequest(candidates=1, process=process)
    run_job(request.name, request.of(SOFTMAX).payload)
    assert "diverged" in Desk().ask(request.of(SOFTMAX))
