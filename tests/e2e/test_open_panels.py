"""What stands open on a page stays open, and where it is, when a run ends elsewhere."""

import pytest
from playwright.sync_api import expect

from engine.jobs import JobQueue
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import scores_payload

pytestmark = pytest.mark.e2e
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})


@pytest.mark.slow  # two real runs
def test_open_panels_outlive_the_end_of_a_run(open_page, home, settle):
    queue = JobQueue(home)

    def submit(title, seed):
        source = ProblemSource(n_train=200, n_queries=20, n_test=50, seed=seed)
        return queue.submit(ScoresRequest.name, scores_payload(source, [STEP], 10), title)

    def card(job):
        return page.locator(f".st-key-run-{job.id[:12]}")

    first = submit("An earlier run", 91)
    page = open_page("/runs")
    expect(card(first)).to_contain_text("Finished")
    settle(page)
    page.get_by_text("Reproduce a table or figure").click()
    start = page.locator(".st-key-choice-experiment")
    start.wait_for()
    settle(page)
    card(first).get_by_role("button", name="Delete").click()
    asked = page.get_by_role("button", name="Delete for good")
    asked.wait_for()
    second = submit("A later run", 92)
    expect(card(second)).to_contain_text("Finished")
    settle(page)
    assert start.is_visible() and asked.is_visible()
    assert page.console_errors == []
    for job in (first, second):
        queue.delete(job.id)
