"""The queue: one job for one question, claimed by one worker, never lost."""

import sqlite3
import threading
import time
from contextlib import closing

import pytest

from engine.basics.errors import InvalidInput, StoreError
from engine.jobs import JobLost, JobQueue, Progress, Workers, ensure_worker, job_digest, run_job
from engine.jobs.estimate import JobWork, Trace
from engine.jobs.queue import DAMAGED
from engine.jobs.run import forget_chunks, sweep_chunks
from tests.engine.jobs import kinds  # noqa: F401 - registers `slow`
from tests.processes import FRESH, start


@pytest.fixture
def queue(tmp_path):
    return JobQueue(tmp_path)


LONG = 3_600  # seconds that no worker is silent for, however busy the machine


def age(queue, job, seconds):
    with queue.database.writing() as connection:
        connection.execute("UPDATE jobs SET heartbeat = heartbeat - ? WHERE id = ?", (seconds, job))


def test_the_same_question_is_one_job(queue):
    first = queue.submit("slow", {"a": 1, "b": [0.1]}, "A run")
    again = JobQueue(queue.root).submit("slow", {"b": (0.1,), "a": 1}, "Other words")
    assert first == again and first.state == "queued" and first.title == "A run" and first.active
    assert first.id == job_digest("slow", {"a": 1, "b": [0.1]})
    assert queue.submit("slow", {"a": 2}).id != first.id and queue.submit("fast", {"a": 1, "b": [0.1]}).id != first.id
    assert [job.payload for job in queue.jobs()][-1] == {"a": 1, "b": [0.1]}
    assert queue.get("nothing") is None
    with pytest.raises(InvalidInput, match="JSON cannot represent"):
        queue.submit("slow", {"a": float("nan")})


def test_life_of_a_job(queue):
    job = queue.submit("slow", {})
    queue.submit("slow", {"later": 1})
    assert queue.claim("w").id == job.id and queue.get(job.id).state == "running"
    assert queue.heartbeat(job.id, "w") is False
    queue.report(job.id, "w", Progress(1, 4, 0.25, 30.0, "seed 1"))
    seen = queue.get(job.id)
    assert (seen.done, seen.total, seen.share, seen.message) == (1, 4, 0.25, "seed 1")
    assert seen.time_left(seen.updated + 10) == 20.0 and seen.time_left(seen.updated + 99) == 20.0
    queue.report(job.id, "w", Progress(3, 4, 0.75, 10.0, "seed 3"))
    last = queue.get(job.id)
    assert last.time_left(last.updated + 4) == 6.0 and last.time_left(last.updated + 99) == 0.0
    queue.finish(job.id, "w")
    done = queue.get(job.id)
    assert done.state == "done" and done.share == 1.0 and done.time_left() is None and not done.active
    assert [job.state for job in queue.jobs("queued", "done")] == ["queued", "done"]
    assert queue.jobs("failed") == [] and len(queue.jobs(limit=1)) == 1


def test_a_result_in_the_store_is_not_computed_again(queue):
    payload = {"chunks": 1, "tally": str(queue.root / "tally")}
    run_job("slow", payload, queue.root)
    assert queue.submit("slow", payload).state == "done" and queue.claim("w") is None
    queue.store.delete(job_digest("slow", payload))
    assert queue.submit("slow", payload).state == "queued" and queue.claim("w").kind == "slow"


def test_cancel_and_resume(queue):
    job = queue.submit("slow", {}).id
    queue.request_cancel(job)
    assert queue.get(job).state == "cancelled" and queue.submit("slow", {}).state == "cancelled"
    queue.resume(job)
    queue.claim("w")
    queue.request_cancel(job)
    assert queue.heartbeat(job, "w") is True
    queue.resume(job)
    assert queue.heartbeat(job, "w") is False
    queue.request_cancel(job)
    queue.stop(job, "w")
    assert queue.get(job).state == "cancelled"
    queue.resume(job)
    queue.claim("w")
    queue.fail(job, "w", "It broke.")
    assert queue.get(job).error == "It broke."
    queue.resume(job)
    assert (queue.get(job).state, queue.get(job).error) == ("queued", "")
    queue.resume("unknown")
    queue.request_cancel("unknown")


def test_leaving_in_good_order_is_no_crash(queue):
    job = queue.submit("slow", {}).id
    queue.claim("w")
    queue.release(job, "w")
    assert (queue.get(job).state, queue.get(job).crashes) == ("queued", 0)
    queue.claim("w")
    queue.request_cancel(job)
    queue.release(job, "w")
    assert queue.get(job).state == "cancelled"


def test_delete(queue):
    payload = {"chunks": 1, "tally": str(queue.root / "tally")}
    job = queue.submit("slow", payload, "My run")
    queue.claim("w")
    with pytest.raises(InvalidInput, match="`My run` is running; cancel it"):
        queue.delete(job.id)
    run_job("slow", payload, queue.root)
    queue.finish(job.id, "w")
    queue.delete(job.id)
    assert queue.get(job.id) is None and not queue.store.has(job.id)


def test_a_dead_worker_is_noticed_three_times(queue):
    job = queue.submit("slow", {}).id
    for crash in (1, 2, 3):
        assert queue.claim(f"w{crash}").id == job
        assert queue.requeue_dead() == [] and not queue.get(job).stalled()
        age(queue, job, LONG)
        assert queue.get(job).stalled() and queue.requeue_dead() == [job]
        assert queue.get(job).crashes == crash
    failed = queue.get(job)
    assert failed.state == "failed" and "died 3 times" in failed.error and failed.error.endswith(".")
    queue.resume(job)
    assert queue.get(job).crashes == 0


def test_a_worker_may_be_silent_for_longer_where_processes_wait_for_a_core(queue, monkeypatch):
    job, workers = queue.submit("slow", {}).id, Workers(queue.root)
    queue.claim("w")
    workers.beat("w")
    age(queue, job, 200)
    with workers.database.writing() as connection:
        connection.execute("UPDATE workers SET heartbeat = heartbeat - 200")
    monkeypatch.setattr("engine.jobs.queue.crowd_now", lambda: 20.0)
    assert not queue.get(job).stalled() and queue.requeue_dead() == [] and workers.alive() == ["w"]
    monkeypatch.setattr("engine.jobs.queue.crowd_now", lambda: 1.0)
    assert queue.get(job).stalled() and workers.alive() == [] and queue.requeue_dead() == [job]


def test_a_finished_chunk_forgives_crashes(queue):
    job = queue.submit("slow", {}).id
    for done in range(1, 5):
        queue.claim("w")
        queue.report(job, "w", Progress(done - 1, 9, 0.1, None))
        queue.report(job, "w", Progress(done, 9, 0.1, None))
        age(queue, job, LONG)
        queue.requeue_dead()
    assert (queue.get(job).state, queue.get(job).crashes) == ("queued", 1)


def test_a_dead_workers_job_can_be_cancelled(queue):
    job = queue.submit("slow", {}).id
    queue.claim("w")
    queue.request_cancel(job)
    age(queue, job, LONG)
    queue.requeue_dead()
    assert queue.get(job).state == "cancelled"
    queue.resume(job)
    queue.claim("w")
    age(queue, job, LONG)
    queue.request_cancel(job)
    assert queue.get(job).state == "cancelled"


def test_a_worker_that_wakes_up_late_touches_nothing(queue):
    job = queue.submit("slow", {}).id
    queue.claim("old")
    age(queue, job, LONG)
    queue.requeue_dead()
    queue.claim("new")
    for act in (lambda: queue.heartbeat(job, "old"), lambda: queue.finish(job, "old"),
                lambda: queue.fail(job, "old", "No."), lambda: queue.release(job, "old"),
                lambda: queue.report(job, "old", Progress(1, 2, 0.5, None))):
        with pytest.raises(JobLost):
            act()
    assert queue.get(job).worker == "new" and queue.get(job).state == "running"


def claim_all(root, barrier, results, submits):
    barrier.wait()
    queue = JobQueue(root)  # the file does not exist yet: all create it at once
    for number in range(submits):
        queue.submit("slow", {"n": number})
    mine = []
    while (job := queue.claim(f"{barrier}")) is not None:
        mine.append(job.id)
    results.put(mine)


def test_every_job_is_claimed_once_by_several_processes(tmp_path):
    barrier, results = FRESH.Barrier(4), FRESH.Queue()
    workers = [start(claim_all, tmp_path, barrier, results, 30) for _ in range(4)]
    claimed = [job for _ in workers for job in results.get(timeout=30)]
    for worker in workers:
        worker.join(20)
    assert len(claimed) == len(set(claimed)) == 30


def test_threads_share_a_queue(queue):
    errors = []

    def submit(start):
        try:
            for number in range(start, start + 10):
                queue.submit("slow", {"n": number})
                queue.jobs()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=submit, args=(start,)) for start in (0, 5, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(queue.jobs()) == 20


def test_full_disk_says_so(queue, monkeypatch):
    queue.submit("slow", {})
    real = queue.database._connect

    def cramped():
        connection = real()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(queue.database, "_connect", cramped)
    with pytest.raises(StoreError, match="disk is full") as error:
        queue.submit("slow", {"big": "x" * 100_000})
    assert isinstance(error.value.__cause__, sqlite3.OperationalError)
    monkeypatch.undo()
    assert len(queue.jobs()) == 1


def test_queue_files_that_cannot_be_used(tmp_path):
    (tmp_path / "queue.sqlite").write_bytes(b"not a database " * 100)
    with pytest.raises(StoreError, match="damaged; move it away"):
        JobQueue(tmp_path).jobs()
    with pytest.raises(StoreError, match="cannot be used"):
        JobQueue(tmp_path / "queue.sqlite").jobs()
    newer = JobQueue(tmp_path / "newer")
    newer.jobs()
    with newer.database.writing() as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="newer version"):
        newer.jobs()


def test_a_busy_queue_says_so(queue, monkeypatch):
    queue.jobs()
    monkeypatch.setattr("engine.jobs.database.PATIENCE", 0.05)
    with queue.database.writing(), pytest.raises(StoreError, match="busy; try again"):
        queue.submit("slow", {})
    assert queue.jobs() == []


def test_one_of_two_browsers_starts_the_worker(tmp_path, monkeypatch):
    workers = Workers(tmp_path)
    first = workers.reserve()
    assert first and workers.reserve() is None and workers.alive() == [first]
    assert not ensure_worker(tmp_path)
    workers.leave(first)
    started = []

    class Process:
        def __init__(self, command, **_):
            time.sleep(0.05)
            started.append(command)

        def poll(self):
            return None

    monkeypatch.setattr("engine.jobs.workers.subprocess.Popen", Process)
    threads = [threading.Thread(target=ensure_worker, args=(tmp_path,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(started) == 1 and "engine.worker" in started[0]


def test_a_worker_that_cannot_start_is_not_started_over_and_over(tmp_path):
    workers = Workers(tmp_path)
    workers.fail(workers.reserve(), "It cannot.")
    assert workers.trouble() == "It cannot." and workers.alive() == [] and workers.reserve() is None
    workers.join("by hand")
    assert workers.trouble() == "" and workers.alive() == ["by hand"]


def test_a_heartbeat_from_before_the_clock_was_set_back_is_none(queue):
    job = queue.submit("slow", {})
    queue.claim("w")
    workers = Workers(queue.root)
    workers.beat("w")
    age(queue, job.id, -30)
    assert not queue.get(job.id).stalled() and queue.requeue_dead() == []  # a clock may be a little off
    age(queue, job.id, -3_600)
    with workers.database.writing() as connection:
        connection.execute("UPDATE workers SET heartbeat = heartbeat + 3600")
    assert queue.get(job.id).stalled() and workers.alive() == [] and workers.reserve() is not None
    queue.request_cancel(job.id)
    assert queue.get(job.id).state == "cancelled"
    queue.resume(job.id)
    queue.claim("w")
    age(queue, job.id, -3_600)
    assert queue.requeue_dead() == [job.id] and queue.get(job.id).state == "queued"


def test_a_queue_that_cannot_be_used_names_its_folder(tmp_path, monkeypatch):
    queue = JobQueue(tmp_path)
    queue.jobs()
    for text in ("disk I/O error", "attempt to write a readonly database", "unable to open database file"):
        def broken(*_, text=text, **__):
            raise sqlite3.OperationalError(text)

        monkeypatch.setattr(sqlite3, "connect", broken)
        with pytest.raises(StoreError, match="WHICHFLUENCE_HOME") as error:
            queue.jobs()
        assert f"`{tmp_path}`" in str(error.value) and text in str(error.value)


def test_chunks_are_forgotten_in_one_step(queue, monkeypatch):
    payload = {"chunks": 2, "tally": str(queue.root / "tally")}
    shelf = queue.root / "chunks" / job_digest("slow", payload)
    (shelf / "one").mkdir(parents=True)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)  # killed while it removes files
    forget_chunks(queue.root, shelf.name)
    assert not shelf.exists()


def test_late_chunks_of_a_finished_job_are_swept(queue):
    payload = {"chunks": 1, "tally": str(queue.root / "tally")}
    done = run_job("slow", payload, queue.root).digest
    for name in (done, "0" * 64, "notes"):
        (queue.root / "chunks" / name / "late").mkdir(parents=True)
    sweep_chunks(queue.root)
    assert sorted(path.name for path in (queue.root / "chunks").iterdir()) == ["0" * 64, "notes"]


@pytest.mark.parametrize("payload", ["", "{", "[1]", "null", "{\"a\": 2}", "[" * 100_000])
def test_a_damaged_row_is_set_aside_and_the_rest_goes_on(queue, payload):
    damaged, sound = queue.submit("slow", {"a": 1}), queue.submit("slow", {"b": 1})
    with queue.database.writing() as connection:
        connection.execute("UPDATE jobs SET payload = ? WHERE id = ?", (payload, damaged.id))
    assert {job.id for job in queue.jobs()} == {damaged.id, sound.id}
    assert queue.claim("w").id == sound.id and queue.claim("w") is None
    seen = queue.get(damaged.id)
    assert (seen.state, seen.error) == ("failed", DAMAGED) and [job.id for job in queue.jobs("failed")] == [damaged.id]
    queue.resume(damaged.id)
    assert queue.claim("w") is None and queue.get(damaged.id).state == "failed"
    assert queue.submit("slow", {"a": 1}).payload == {"a": 1}  # asked again, the row is whole
    queue.resume(damaged.id)
    assert queue.claim("w").id == damaged.id
    queue.finish(damaged.id, "w")
    queue.delete(damaged.id)
    assert queue.get(damaged.id) is None


@pytest.mark.parametrize("state", ["queued", "running", "done", "failed", "cancelled"])
def test_a_damaged_row_of_any_state_is_listed(queue, state):
    job = queue.submit("slow", {"a": 1})
    with queue.database.writing() as connection:
        connection.execute("UPDATE jobs SET payload = 'x', state = ? WHERE id = ?", (state, job.id))
    assert [one.state for one in queue.jobs()] == ["failed"] and queue.jobs()[0].payload == {}
    assert queue.jobs("done") == [] and queue.get(job.id).state == "failed"


def test_what_a_person_asks_for_goes_before_what_a_page_started(queue):
    by_page = [queue.submit("slow", {"page": i}, background=True).id for i in range(3)]
    asked = queue.submit("slow", {"asked": 1}).id
    assert queue.waits(background=False)
    assert queue.submit("slow", {"page": 2}).background is False, "a person asks for what a page has started"
    assert queue.submit("slow", {"page": 2}, background=True).background is False
    queue.request_cancel(by_page[1])
    queue.resume(by_page[1])
    queue.submit("slow", {"page": 3}, background=True)
    claimed = [queue.claim("w").id for _ in range(4)]
    assert claimed == [by_page[2], asked, by_page[1], by_page[0]] and not queue.waits(background=False)
    queue.request_cancel_all()
    assert {job.state for job in queue.jobs() if not job.cancel} == {"cancelled"}
    assert all(job.cancel for job in queue.jobs("running")) and len(queue.jobs("running")) == 4


VERSION_2 = """
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0, share REAL NOT NULL DEFAULT 0,
    seconds_left REAL, message TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '',
    worker TEXT, heartbeat REAL, cancel INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL, queued REAL NOT NULL, started REAL, updated REAL NOT NULL, finished REAL,
    background INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE workers (id TEXT PRIMARY KEY, heartbeat REAL NOT NULL, note TEXT NOT NULL DEFAULT '') STRICT;
"""
"""The tables as version 2 had them; version 1 had no `background`."""


@pytest.mark.parametrize("version", [1, 2])
def test_a_queue_of_an_older_version_keeps_its_jobs(tmp_path, version):
    with closing(sqlite3.connect(tmp_path / "queue.sqlite")) as old:
        old.executescript(VERSION_2 if version == 2 else VERSION_2.replace(
            ",\n    background INTEGER NOT NULL DEFAULT 0", ""))
        for name, state, started, finished in (("a", "done", 10.0, 12.5), ("b", "queued", None, None),
                                               ("c", "running", 20.0, None)):
            old.execute("INSERT INTO jobs (id, kind, payload, title, state, created, queued, updated, started, "
                        "finished) VALUES (?, 'slow', '{}', 'Old', ?, 1, 1, 1, ?, ?)", (name, state, started, finished))
        old.execute(f"PRAGMA user_version = {version}")
        old.commit()
    queue = JobQueue(tmp_path)
    assert {job.id: (job.title, job.state, job.spent) for job in queue.jobs()} == {
        "a": ("Old", "done", 2.5), "b": ("Old", "queued", 0.0), "c": ("Old", "running", 0.0)}
    assert queue.get("a").background is False and queue.get("a").predicted is None and queue.get("a").batch == ""
    assert queue.submit("slow", {"chunks": 1}, background=True).background and len(JobQueue(tmp_path).jobs()) == 4
    assert queue.traces.read() == []


def test_jobs_of_a_batch_are_one_piece_of_work(queue):
    parts = [queue.submit("slow", {"chunks": 2, "seed": seed}) for seed in (1, 0)]
    other = queue.submit("slow", {"chunks": 1})
    queue.together("piece", "Two seeds", {parts[0].id: "seed 1", parts[1].id: "seed 0"})
    assert [(job.part, job.batch_title) for job in queue.batch("piece")] == [("seed 0", "Two seeds"),
                                                                             ("seed 1", "Two seeds")]
    assert queue.get(other.id).batch == ""
    assert queue.submit("slow", {"chunks": 2, "seed": 1}).batch == "piece"  # asked for anew, it stays a part
    queue.request_cancel(parts[0].id)
    assert [job.state for job in queue.batch("piece")] == ["queued", "cancelled"]
    queue.request_cancel_batch("piece")
    assert [job.state for job in queue.batch("piece")] == ["cancelled"] * 2 and queue.get(other.id).state == "queued"
    queue.together("larger", "Three seeds", {job.id: job.part for job in parts} | {other.id: "seed 2"})
    assert queue.batch("piece") == [] and len(queue.batch("larger")) == 3


def test_what_a_job_took_is_kept_when_it_is_deleted_and_moves_the_next_prediction(queue):
    job, work = queue.submit("slow", {"chunks": 4}), JobWork("slow", 4.0, ("mlp",))
    assert job.predicted_low < job.predicted < job.predicted_high
    trace = Trace(work, 400.0, 400.0, time.time())
    queue.traces.record(job.id, Trace(work, 1.0, 1.0, time.time()))
    queue.traces.record(job.id, trace)  # in its place
    queue.delete(job.id)
    assert queue.traces.read() == [trace]
    assert queue.submit("slow", {"chunks": 8}).predicted > 20 * job.predicted


def test_seconds_of_all_attempts_are_counted(queue):
    job = queue.submit("slow", {"chunks": 4}).id

    def attempt(end):
        queue.claim("w")
        with queue.database.writing() as connection:
            connection.execute("UPDATE jobs SET started = started - 30 WHERE id = ?", (job,))
        end(job, "w")

    attempt(queue.release)
    attempt(queue.stop)
    queue.resume(job)
    attempt(queue.finish)
    assert 90 <= queue.get(job).spent < 120
