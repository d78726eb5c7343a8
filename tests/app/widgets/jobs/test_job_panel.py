"""The panel that a waiting page shows: progress, cancel, resume, and every fault as a sentence."""

import errno
import threading

import pytest
from streamlit.testing.v1 import AppTest

from app.widgets.jobs.desk import desk
from app.widgets.jobs.job_panel import duration
from app.widgets.words.times import moment, spell
from engine.basics.errors import Cancelled
from engine.jobs import KINDS, JobKind, JobQueue, Progress, Workers
from engine.jobs.loop import Worker
from engine.problems import ProblemSource
from engine.store import sealed
from tests.pages.support import texts

COUNT = JobKind("count_to_three", lambda payload: ["a", "b", "c"], lambda payload, key, context: {},
                lambda payload, chunks, context: {})


@pytest.fixture
def queue():
    KINDS.add(COUNT.name, COUNT, replace=True)
    yield desk().jobs.queue
    KINDS.remove(COUNT.name)


@pytest.fixture
def job(queue):
    return queue.submit(COUNT.name, {"n": 1}, title="Count to three")


def page(job_id: str):
    from app.widgets.jobs import job_panel
    from engine.desk import Waiting

    job_panel.wait(Waiting("Count to three", job=job_id))


def panel(job):
    at = AppTest.from_function(page, kwargs={"job_id": job.id}, default_timeout=30).run()
    assert not at.exception, at.exception
    return at


def text_of(at):
    bars = [bar.proto.text for bar in at.get("progress")]
    return " ".join([*texts(at), *bars])


def button(at, label):
    return next(button for button in at.button if button.label == label)


@pytest.mark.parametrize("seconds, text", [(None, "time left unknown"), (0.2, "about 1 s left"),
                                           (0.0, "taking longer than estimated"),
                                           (89, "about 89 s left"), (180, "about 3 min left"),
                                           (4800, "about 1 h 20 min left")])
def test_time_left_as_people_say_it(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize("interval, text", [
    ((100.0, 290.0), "about 3 min left"), ((60.0, 600.0), "60 s to 10 min left"), ((179.0, 181.0), "about 3 min left")])
def test_an_uncertain_time_is_said_as_a_range(interval, text):
    assert duration(180.0, interval) == text


def test_moments_on_the_readers_clock():
    noon = 1_700_049_600.0  # 15 November 2023, 12:00 UTC
    assert moment(noon, "UTC", now=noon + 60) == "12:00"
    assert moment(noon, "Asia/Tokyo", now=noon + 86_400) == "15 Nov 21:00"
    assert moment(noon, "Not/AZone", now=noon) and moment(None) == "–" and spell(0.1) == "1 s"


def test_a_waiting_run_says_so_and_can_be_cancelled(queue, job):
    at = panel(job)
    assert "Count to three" in text_of(at) and "queued" in text_of(at)
    button(at, "Cancel").click().run()
    assert queue.get(job.id).state == "cancelled"


def test_a_running_job_shows_parts_and_time_left(queue, job):
    queue.claim("someone")
    queue.report(job.id, "someone", Progress(1, 3, 0.4, 200.0, "re-optimising"))
    shown = text_of(panel(job))
    assert "1 of 3 parts done · about 3 min left" in shown and "re-optimising" in shown
    queue.report(job.id, "someone", Progress(3, 3, 1.0, 0.0))
    assert "3 of 3 parts done · combining its parts" in text_of(panel(job))


def test_a_run_that_was_asked_to_stop_says_so(queue, job):
    queue.claim("someone")
    queue.request_cancel(job.id)
    at = panel(job)
    assert "stopping" in text_of(at) and button(at, "Stopping…").disabled


def test_a_cancelled_run_offers_to_go_on(queue, job):
    queue.request_cancel(job.id)
    at = panel(job)
    assert "its finished parts are stored" in text_of(at)
    button(at, "Resume").click().run()
    assert queue.get(job.id).state == "queued"


def test_a_silent_worker_is_noticed(queue, job):
    queue.claim("someone")
    with queue.database.writing() as connection:
        connection.execute("UPDATE jobs SET heartbeat = heartbeat - 3600")
    assert "stopped responding" in text_of(panel(job))


def test_why_no_worker_starts_is_said(queue, job, monkeypatch):
    Workers(queue.root).fail("w1", "The worker cannot load the job kinds of `broken`.")
    assert "cannot load the job kinds" in text_of(panel(job))


def test_a_full_disk_fails_the_run_with_its_sentence_and_it_can_be_resumed(queue, job, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(sealed, "write_synced", full)
        serve_once(queue)
    failed = queue.get(job.id)
    assert failed.state == "failed"
    at = panel(failed)
    assert "This run failed: The disk is full" in text_of(at) and "free some space" in text_of(at)
    button(at, "Resume").click().run()
    serve_once(queue)
    assert queue.get(job.id).state == "done"


def serve_once(queue: JobQueue) -> None:
    thread = threading.Thread(target=Worker(queue.root, name="w").serve, kwargs={"once": True})
    thread.start()
    thread.join(30)


def test_the_training_panel_waits_for_the_model(monkeypatch):
    gate, source = threading.Event(), ProblemSource(seed=5)

    def held(self, device):
        gate.wait(60)
        raise Cancelled("The test is over.")

    def page():
        from app.widgets.jobs import job_panel
        from engine.desk import Waiting
        from engine.problems import ProblemSource

        job_panel.wait(Waiting("Training the model", source=ProblemSource(seed=5)))

    monkeypatch.setattr(ProblemSource, "build", held)
    try:
        at = AppTest.from_function(page, default_timeout=30).run()
        assert not at.exception and "Training the model" in text_of(at)
        assert desk().ahead(source) == 0
    finally:
        gate.set()


def twice(job_id: str):
    from app.widgets.jobs import job_panel
    from engine.desk import Waiting

    job_panel.begin()
    for _ in range(2):
        job_panel.watch(Waiting("Count to three", job=job_id))


def test_a_run_that_two_places_wait_for_has_one_panel(job):
    at = AppTest.from_function(twice, kwargs={"job_id": job.id}, default_timeout=30).run()
    assert not at.exception and [button.key for button in at.button] == [f"cancel:{job.id}"]
    assert text_of(at).count("Count to three") == 1 and "shown above" in text_of(at)
    assert not at.run().exception and len(at.button) == 1


def pieces(batch: str):
    from app.widgets.jobs import job_panel
    from engine.desk import Waiting

    job_panel.begin()
    job_panel.wait(Waiting("Three counts", job="a", batch=batch))


def test_parts_of_one_piece_of_work_have_one_panel_and_are_cancelled_alone_or_together(queue):
    jobs = [queue.submit(COUNT.name, {"n": n}) for n in (1, 2, 3)]
    queue.together("piece", "Three counts", {job.id: f"seed {n}" for n, job in enumerate(jobs)})
    queue.claim("someone")
    queue.report(jobs[0].id, "someone", Progress(1, 3, 0.5, 60.0, "counting", interval=(20.0, 300.0)))
    at = AppTest.from_function(pieces, kwargs={"batch": "piece"}, default_timeout=30).run()
    assert not at.exception and text_of(at).count("Three counts") == 1
    assert "0 of 3 parts done" in text_of(at) and "seed 0: 1 of 3 parts done · 20 s to 5 min left" in text_of(at)
    assert "seed 1: not started yet · queued, takes " in text_of(at)
    next(one for one in at.button if one.key == f"cancel:{jobs[1].id}").click().run()
    assert [queue.get(job.id).state for job in jobs] == ["running", "cancelled", "queued"]
    button(at.run(), "Cancel all").click().run()
    assert queue.get(jobs[2].id).state == "cancelled" and queue.get(jobs[0].id).cancel
