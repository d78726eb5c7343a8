"""The spot check of a desk: out of a comparison, computed at once, queued where that is affordable, else its cost."""

import time
from math import inf

import numpy as np
import pytest

from engine.analysis.comparison import compare
from engine.analysis.spot_check import CANDIDATES, NotMeasured, SpotCheck
from engine.desk import Waiting
from engine.desk import compared as desk_compared
from engine.desk.spot_check import spot_checked
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring

SOURCE = ProblemSource(n_train=120, n_queries=12, n_test=50, seed=3)
LOCAL = {"kind": "infinitesimal"}, {"kind": "local_response"}
LISSA, KFAC, EXACT = (Scoring.of("query_loss", *LOCAL, name) for name in ("lissa", "kfac", "exact"))


def found_on(desk, *scorings):
    found = desk_compared.compared(desk, [SOURCE], scorings, 100)
    while isinstance(found, Waiting):
        time.sleep(0.05)
        found = desk_compared.compared(desk, [SOURCE], scorings, 100)
    return found


def test_the_exact_answer_of_a_comparison_is_taken_whole(desk, monkeypatch):
    found = found_on(desk, LISSA, EXACT, KFAC)
    monkeypatch.setattr(desk, "scores", None)
    checked = spot_checked(desk, found, 0)
    assert checked.seed is None and (checked.candidates, checked.queries) == (120, 12)
    assert checked.tau.mean == found.comparison.agreement("kendall_tau", 0, 1).mean
    assert spot_checked(desk, found, 2).scoring == KFAC
    assert isinstance(spot_checked(desk, found, 1), NotMeasured)


def test_what_is_quick_is_computed_on_the_first_of_the_shuffled_candidates(desk):
    found = found_on(desk, LISSA, KFAC)
    checked = spot_checked(desk, found, 0)
    assert isinstance(checked, SpotCheck) and checked.reference == EXACT
    assert (checked.candidates, checked.of_candidates, checked.seed) == (CANDIDATES, 120, 3)
    right = desk.scores(SOURCE, [LISSA, EXACT], CANDIDATES)
    whole = compare([right], fraction=checked.top / CANDIDATES)
    assert checked.tau.mean == whole.agreement("kendall_tau", 0, 1).mean
    assert (np.diff(right[0].candidates) < 0).any(), "the candidates are no prefix of the training set"


def test_what_takes_longer_is_queued_where_it_is_affordable_and_else_says_its_cost(desk, monkeypatch):
    found = found_on(desk, LISSA, KFAC)
    monkeypatch.setattr("engine.desk.desk.cost.guess", lambda scorings, problem, candidates: 500.0)
    dear = spot_checked(desk, found, 0, 60.0)
    assert isinstance(dear, NotMeasured) and dear.seconds == pytest.approx(500, rel=0.01)
    assert "takes about 8 min" in dear.sentence and not desk.jobs.queue.jobs("queued", "running")
    waiting = spot_checked(desk, found, 0, inf)
    assert isinstance(waiting, Waiting) and waiting.job is not None
    run_job(ScoresRequest.name, desk.jobs.queue.get(waiting.job).payload)
    measured = spot_checked(desk, found, 0, 60.0)
    assert isinstance(measured, SpotCheck) and measured.candidates == CANDIDATES, "what is computed is not dear"


def test_a_run_that_failed_is_a_reason(desk, monkeypatch):
    found = found_on(desk, LISSA, KFAC)
    monkeypatch.setattr("engine.desk.desk.cost.guess", lambda scorings, problem, candidates: 30.0)
    waiting = spot_checked(desk, found, 0)
    job = desk.jobs.queue.get(waiting.job)
    monkeypatch.setattr("engine.jobs.JobQueue.get", lambda queue, asked: type(job)(**{
        **vars(job), "state": "failed", "error": "It needs the Hessian."}))
    said = spot_checked(desk, found, 0)
    assert isinstance(said, NotMeasured) and said.sentence.endswith("is not available: It needs the Hessian.")
