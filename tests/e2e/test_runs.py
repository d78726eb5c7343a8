"""Runs with a real worker: a page starts one, progress moves by itself, and a run is cancelled, resumed, deleted."""

import io
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from engine.jobs import JobQueue, Workers
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import scores_payload

pytestmark = pytest.mark.e2e
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
REMOVE = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})
RESPONSE = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"}, "cg")
SLOW = [Scoring.of("query_loss", {"kind": "upweight", "alpha": alpha}, {"kind": "reoptimize"})
        for alpha in np.linspace(0.03, 0.1, 24).tolist()]  # ten parts of some seconds each


@pytest.fixture
def submit(home):
    """Puts a run into the server's queue, as another session would, and removes it at the end."""
    queue, jobs = JobQueue(home), []

    def submit_(title, candidates, seed, scorings=(STEP, REMOVE)):
        source = ProblemSource(n_train=1_000, n_queries=50, n_test=100, seed=seed)
        jobs.append(queue.submit(ScoresRequest.name, scores_payload(source, scorings, candidates), title))
        return jobs[-1]

    yield submit_
    for job in jobs:
        if (now := queue.get(job.id)) is not None and not now.active:
            queue.delete(job.id)


def press(shown, name):
    """Click a button of a card, once: a card that is drawn anew holds it twice for a moment."""
    button = shown.get_by_role("button", name=name)
    expect(button).to_have_count(1)
    button.click()


def card(page, job):
    return page.locator(f".st-key-run-{job.id[:12]}")


@pytest.mark.core
def test_a_run_is_taken_up_finishes_and_is_opened_kept_and_deleted(open_page, settle, submit, home, tmp_path):
    job = submit("A small run", 20, seed=11)
    page = open_page("/runs")
    expect(card(page, job)).to_contain_text("Finished")  # by itself
    assert Workers(home).alive()
    card(page, job).get_by_role("button", name="Open").click()
    expect(page.get_by_role("button", name="All runs")).to_have_count(1)
    expect(page.locator('[data-testid="stDataFrame"]')).to_have_count(1)
    assert f"run={job.id}" in page.url
    with page.expect_download() as download:
        page.get_by_role("button", name="Arrays (npz)").click()
    download.value.save_as(tmp_path / "run.npz")
    with np.load(io.BytesIO((tmp_path / "run.npz").read_bytes()), allow_pickle=False) as arrays:
        assert arrays["0_values"].shape == (50, 20)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("button", name="All runs")).to_have_count(0)
    settle(page)
    assert JobQueue(home).get(job.id) is None and "run=" not in page.url
    assert page.console_errors == []


def test_a_solver_is_told_by_the_residual_of_its_systems_and_no_gradient_norm(open_page, settle, submit):
    job = submit("A solver's run", 8, seed=13, scorings=(RESPONSE,))
    page = open_page("/runs")
    expect(card(page, job)).to_contain_text("Finished")
    card(page, job).get_by_role("button", name="Open").click()
    residual = page.get_by_text("Largest relative residual of a linear system")
    expect(residual).to_have_count(1)
    settle(page)
    assert not page.get_by_text("after re-optimisation").count() and page.console_errors == []


@pytest.mark.slow
def test_a_run_is_cancelled_and_resumed_and_another_browser_sees_it(open_page, submit, home):
    page, other = open_page("/runs"), open_page("/runs?show=active", size=(390, 844))
    job = submit("A longer run", 1_000, seed=12, scorings=SLOW)
    expect(card(page, job)).to_contain_text(re.compile("parts? done"))
    press(card(page, job), "Cancel")
    expect(card(page, job)).to_contain_text("Cancelled")
    done = JobQueue(home).get(job.id).done
    press(card(page, job), "Resume")
    expect(card(other, job)).to_contain_text(re.compile("parts? done"))
    press(card(other, job), "Cancel")
    expect(card(other, job)).to_have_count(0)
    expect(card(page, job)).to_contain_text("Cancelled")
    now = JobQueue(home).get(job.id)
    assert now.total > now.done >= done
    assert page.console_errors == [] and other.console_errors == []
