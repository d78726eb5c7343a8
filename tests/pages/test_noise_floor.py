"""The noise floor on Compare: measured where it takes a moment, else said not to be, with its cost and a button."""

import json
import re

import pytest

from app.compare import noise_floor as panel
from app.widgets.jobs.desk import desk
from engine.analysis.comparison import compare
from engine.basics.values import signed
from engine.desk import noise_floor
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.requests.training import TrainingRequest
from engine.scoring import codes
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import training_payload
from tests.pages import support
from tests.pages.support import open, says, scored, sound

SMALL = {"data": "digits", "model": "mlp", "train": 60, "queries": 12, "candidates": 6, "nseeds": 1}
SOURCE = ProblemSource(model="mlp", n_train=60, n_queries=12, n_test=500)
REMOVED, NEXT, MEAN = (Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain", **more})
                       for more in ({}, {"first": 1}, {"seeds": 2}))
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
SOFT = Scoring.of("soft_margin", {"kind": "remove"}, {"kind": "retrain"})


@pytest.fixture(autouse=True)
def trained(home, monkeypatch):
    support.forget()
    run_job(TrainingRequest.name, training_payload(SOURCE))


def marks(at):
    """What each cell of the matrix says of its noise floor, row by row; None where it says nothing."""
    text = json.loads(at.get("bidi_component")[0].proto.json)["html"]
    cells = re.findall(r'<td><button.*?</button></td>', text, re.DOTALL)
    found = [re.search(r'wf-floor">([^<]*)<', cell) for cell in cells]
    return [None if one is None else one.group(1) for one in found]


def asked(*scorings, **more):
    return scored(open("compare", s=[codes.encode(one) for one in scorings], **{**SMALL, **more}))


def reached():
    problem = SOURCE.build().problem
    return compare([compute(problem.with_candidates(problem.candidates[:6]), [REMOVED, NEXT])]).agreement(
        "kendall_tau", 0, 1)


def test_a_floor_that_takes_a_moment_stands_beside_every_cell_of_a_single_run(monkeypatch):
    monkeypatch.setattr(noise_floor, "AFFORDABLE", 1e9)
    at, floor = asked(REMOVED, STEP, MEAN), reached()
    told = f"seed {signed(floor.mean, 2)}"
    first, second = marks(at)[:2]
    assert first.removeprefix("≥ ") == second.removeprefix("≥ ") == told and marks(at)[3] is None
    assert says(at, f"under two seeds, +0 and +1, agree with Kendall tau {signed(floor.mean)}")
    assert says(at, "the cell reaches it")
    assert not any(button.label == panel.ASK for button in at.button)


def test_scores_that_agree_better_than_seeds_do_are_at_the_ceiling(monkeypatch):
    monkeypatch.setattr(noise_floor, "AFFORDABLE", 1e9)
    at = asked(REMOVED, SOFT)
    assert marks(at)[0].startswith("≥ seed") and says(at, "This pair is at the noise floor")


def test_what_takes_long_is_not_measured_until_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(noise_floor, "AFFORDABLE", 0.0)
    at = asked(REMOVED, STEP)
    assert marks(at) == ["seed ?"] * 2 and says(at, "is not measured") and says(at, "on two cores")
    assert not desk().jobs.queue.jobs("queued", "running")
    sound(next(button for button in at.button if button.label == panel.ASK).click().run())
    [job] = desk().jobs.queue.jobs("queued")
    assert [codes.encode(Scoring.read(one)) for one in job.payload["scorings"]] == [codes.encode(NEXT)]
    assert any(button.label == "Cancel" for button in at.button)
    at = scored(at)
    assert marks(at)[0].removeprefix("≥ ") == f"seed {signed(reached().mean, 2)}"


def test_two_runs_of_one_question_are_the_floor_itself(monkeypatch):
    monkeypatch.setattr(noise_floor, "AFFORDABLE", 0.0)
    at = asked(REMOVED, NEXT)
    assert marks(at) == ["two seeds"] * 2 and says(at, "their agreement is the noise floor")


def test_softmax_regression_has_no_seeds_to_tell_apart():
    at = asked(REMOVED, STEP, model="softmax")
    assert marks(at) == [None, None] and not says(at, "the cell reaches it")
