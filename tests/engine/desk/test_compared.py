"""Several seeds and several scorings are one piece of work, and what is finished of it is compared at once."""

import time

import pytest

from engine.basics.errors import Cancelled
from engine.desk import Waiting
from engine.desk.compared import Compared, compared
from engine.jobs import Watch, run_job
from engine.problems import ProblemSource
from engine.scoring.scoring import Scoring

SOURCES = [ProblemSource(n_train=80, n_queries=6, n_test=20, n_candidates=6, seed=seed) for seed in range(3)]
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
MARGIN = Scoring.of("soft_margin", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
REMOVE = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})
LISTED = [REMOVE, STEP, MARGIN]


@pytest.fixture
def slow(desk, monkeypatch):
    """Every score takes so long that it is a job, and the models are trained."""
    monkeypatch.setattr("engine.desk.desk.cost.guess", lambda *_: 1e6)
    for source in SOURCES:
        while isinstance(desk.sampled(source), Waiting):
            time.sleep(0.02)


def run(desk, job, watch=None):
    """Compute a queued job here, or as far as the watch lets it go."""
    queued = desk.jobs.queue.get(job)
    desk.jobs.queue.claim("w")
    run_job(queued.kind, queued.payload, desk.jobs.root, watch=watch)
    desk.jobs.queue.submit(queued.kind, queued.payload)


@pytest.mark.usefixtures("slow")
def test_seeds_are_parts_of_one_piece_of_work_and_show_as_they_finish(desk):
    waiting = compared(desk, SOURCES, LISTED, 6)
    assert isinstance(waiting, Waiting) and waiting.partial and waiting.what.endswith(", 3 seeds")
    parts = desk.jobs.queue.batch(waiting.batch)
    assert [job.part for job in parts] == ["seed 0", "seed 1", "seed 2"]
    run(desk, parts[1].id)
    view = compared(desk, SOURCES, LISTED, 6)
    assert isinstance(view, Compared) and [one.seed for one in view.sources] == [1] and view.seeds == 3
    assert view.rows == (0, 1, 2) and view.waiting.batch == waiting.batch
    assert view.comparison.agreement("kendall_tau", 0, 1).n_seeds == 1
    run(desk, parts[0].id)
    run(desk, parts[2].id)
    whole = compared(desk, SOURCES, LISTED, 6)
    assert whole.waiting is None and whole.comparison.agreement("kendall_tau", 0, 1).n_seeds == 3


@pytest.mark.usefixtures("slow")
def test_scorings_that_are_finished_show_before_their_run_is(desk):
    class StopAfterOneGroup(Watch):
        def report(self, progress):
            desk.jobs.queue.report(waiting.job, "w", progress)
            self.done = progress.done

        def between_chunks(self):
            if getattr(self, "done", 0) == 1:
                raise Cancelled("Stopped.")

    waiting = compared(desk, SOURCES[:1], LISTED, 6)
    assert not waiting.batch and waiting.partial
    with pytest.raises(Cancelled):
        run(desk, waiting.job, StopAfterOneGroup())
    view = compared(desk, SOURCES[:1], LISTED, 6)
    assert isinstance(view, Compared) and view.rows == (1, 2), "the cheap group of both steps is computed first"
    assert view.waiting.job == waiting.job and view.scorings == (STEP, MARGIN)
    run(desk, waiting.job)
    whole = compared(desk, SOURCES[:1], LISTED, 6)
    assert whole.waiting is None and whole.rows == (0, 1, 2)
