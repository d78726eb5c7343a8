"""Real worker processes: killed, stopped, cancelled, and never computing a chunk twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from engine.basics.errors import StoreError
from engine.jobs import JobQueue, Workers, ensure_worker, loop
from engine.jobs import workers as workers_module
from engine.jobs.loop import Worker
from engine.worker import main
from tests.engine.jobs.kinds import tally

ROOT = Path(__file__).parents[3]
KINDS = "tests.engine.jobs.kinds"


@pytest.fixture
def queue(tmp_path):
    return JobQueue(tmp_path / "home")


@pytest.fixture
def payload(tmp_path):
    return {"chunks": 5, "sleep": 0.25, "tally": str(tmp_path / "tally"), "mended": str(tmp_path / "mended")}


@pytest.fixture
def start(queue):
    processes = []

    def launch(*options):
        command = [sys.executable, "-m", "engine.worker", "--home", str(queue.root), "--kinds", KINDS,
                   "--beat", "0.1", "--dead-after", "0.6", *options]
        processes.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield launch
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_for(condition, seconds=90.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_kill_9_and_go_on_from_the_last_chunk(queue, payload, start):
    job = queue.submit("slow", payload).id
    first = start()
    wait_for(lambda: queue.get(job).done >= 2)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    finished = queue.get(job).done
    assert queue.get(job).state == "running" and finished < 5
    second = start()
    wait_for(lambda: queue.get(job).state == "done")
    numbers = tally(payload)
    assert sorted(set(numbers[:-1])) == ["0", "1", "2", "3", "4"] and numbers[-1] == "finish"
    assert all(numbers.count(str(chunk)) == 1 for chunk in range(finished))
    assert len(numbers) <= 7  # at most the chunk in hand was computed twice
    assert queue.store.read(job).array("scores").shape == (5, 2, 2)
    second.terminate()
    assert second.wait(90) == 0 and Workers(queue.root).alive(0.6) == []


@pytest.mark.slow
def test_sigterm_finishes_the_chunk_and_queues_the_job_again(queue, payload, start):
    job = queue.submit("slow", payload).id
    worker = start()
    wait_for(lambda: queue.get(job).done >= 1)
    worker.terminate()
    assert worker.wait(90) == 0
    seen = queue.get(job)
    assert (seen.state, seen.crashes, seen.worker) == ("queued", 0, None) and len(tally(payload)) == seen.done
    assert start("--once").wait(90) == 0
    assert queue.get(job).state == "done" and tally(payload) == ["0", "1", "2", "3", "4", "finish"]


def serve(queue, idle_exit=0.0, raised=None, **options):
    """A worker in a thread. raised: called with the `StoreError` that ends it."""
    worker = Worker(queue.root, beat=0.05, dead_after=0.6, **options)

    def run():
        try:
            worker.serve(idle_exit=idle_exit)
        except StoreError as error:
            if raised is None:
                raise
            raised(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_cancel_within_a_chunk_then_resume(queue, payload):
    stuck = {**payload, "sleep": 0.0, "stops_at": 2}
    job = queue.submit("slow", stuck).id
    thread = serve(queue)
    wait_for(lambda: "stuck2" in tally(payload))
    assert queue.get(job).time_left() is not None
    asked = time.monotonic()
    queue.request_cancel(job)
    thread.join(90)
    assert time.monotonic() - asked < 1.0 and queue.get(job).state == "cancelled" and queue.get(job).done == 2
    queue.delete(job)
    assert not list((queue.root / "chunks").glob(f"{job}*"))


@pytest.mark.slow  # starts two workers
def test_a_run_that_a_page_started_lets_another_go_first(queue, payload, tmp_path, start):
    own = queue.submit("slow", {**payload, "chunks": 40, "sleep": 0.05}, background=True).id
    asked = {"chunks": 1, "sleep": 0.0, "tally": str(tmp_path / "asked")}
    worker = start()
    wait_for(lambda: queue.get(own).done >= 2)
    before = len(tally(payload))
    job = queue.submit("slow", asked).id
    wait_for(lambda: queue.get(job).state == "done")
    assert queue.store.read(job).manifest["wall_seconds"] < 5
    started = queue.get(job).started
    wait_for(lambda: queue.get(own).done > before)
    worker.terminate()
    worker.wait(90)
    numbers = tally(payload)
    written = [row.stat().st_mtime for row in (queue.root / "chunks" / own).glob("*/manifest.json")]
    assert len(written) >= 2 and sum(queue.get(job).created < at < started for at in written) <= 1, "within one chunk"
    assert numbers == [str(number) for number in range(len(numbers))], "and the first goes on where it was"


def test_a_job_that_comes_while_a_worker_leaves_is_its_own(queue, payload, monkeypatch):
    leave, asked = Workers.leave, []

    def late(workers, worker):
        leave(workers, worker)
        if not asked:
            asked.append(queue.submit("slow", {**payload, "sleep": 0.0}).id)

    monkeypatch.setattr(Workers, "leave", late)
    serve(queue).join(10)
    assert queue.get(asked[0]).state == "done" and Workers(queue.root).alive() == []


def test_a_failing_chunk_fails_the_job_with_its_sentence(queue, payload, tmp_path):
    job = queue.submit("slow", {**payload, "sleep": 0.0, "fails_at": 1}).id
    serve(queue).join(90)
    assert (queue.get(job).state, queue.get(job).error) == ("failed", "The chunk is broken; mend it.")
    (tmp_path / "mended").touch()
    queue.resume(job)
    serve(queue).join(90)
    assert queue.get(job).state == "done" and tally(payload) == ["0", "1", "2", "3", "4", "finish"]


def test_unexpected_errors_are_one_line_and_a_log(queue, payload):
    job = queue.submit("slow", {**payload, "sleep": 0.0, "breaks_at": 0}).id
    other = queue.submit("nonsense", {}).id
    serve(queue).join(90)
    error = queue.get(job).error
    assert error.startswith("Unexpected error ZeroDivisionError: division by zero; its traceback is in logs/")
    log = queue.root / error.split(" is in ")[1].rstrip(".")
    assert "Traceback" in log.read_text() and str(queue.root) not in error
    assert "no job kind `nonsense`" in queue.get(other).error


def test_a_job_that_was_taken_over_stops(queue, payload):
    stuck = {**payload, "sleep": 0.0, "stops_at": 0}
    job = queue.submit("slow", stuck).id
    thread = serve(queue)
    wait_for(lambda: tally(payload) == ["stuck0"])
    with queue.database.writing() as connection:
        connection.execute("UPDATE jobs SET worker = 'rival'")
    thread.join(90)
    assert not thread.is_alive() and queue.get(job).state == "running" and queue.get(job).worker == "rival"


def test_a_full_disk_while_reporting_loses_no_chunk(queue, payload, monkeypatch):
    def full(*_):
        raise StoreError("The disk is full.")

    monkeypatch.setattr(JobQueue, "report", full)
    job = queue.submit("slow", {**payload, "sleep": 0.0}).id
    serve(queue).join(90)
    assert queue.get(job).state == "done"


@pytest.mark.slow  # a page starts one in tests/e2e/test_runs.py
def test_ensure_worker_starts_one_that_leaves_by_itself(queue, payload):
    job = queue.submit("slow", {**payload, "sleep": 0.0}).id
    started = time.monotonic()
    assert ensure_worker(queue.root, kinds=[KINDS], idle_exit=0.0)
    assert not ensure_worker(queue.root, kinds=[KINDS])
    assert time.monotonic() - started < 1.0
    wait_for(lambda: queue.get(job).state == "done")
    assert workers_module._started[-1].wait(90) == 0
    assert Workers(queue.root).alive() == [] and tally(payload)[-1] == "finish"


def test_a_worker_without_jobs_leaves_by_itself(queue, payload, monkeypatch):
    """With the command that `ensure_worker` would start."""
    class Process:
        def __init__(self, command, **options):
            commands.append(command)

        def poll(self):
            return None

    commands = []
    monkeypatch.setattr(workers_module.subprocess, "Popen", Process)
    monkeypatch.setattr(workers_module, "_started", [])
    monkeypatch.setattr(loop, "POLL", 0.01)
    job = queue.submit("slow", {**payload, "sleep": 0.0}).id
    assert ensure_worker(queue.root, idle_exit=0.1) and not ensure_worker(queue.root)
    named = dict(zip(commands[0][3::2], commands[0][4::2], strict=True))
    assert commands[0][1:3] == ["-m", "engine.worker"] and named["--home"] == str(queue.root)
    thread = serve(queue, name=named["--id"], idle_exit=float(named["--idle-exit"]))
    wait_for(lambda: queue.get(job).state == "done")
    assert Workers(queue.root).alive() == [named["--id"]], "it waits a while for another job"
    thread.join(10)
    assert not thread.is_alive() and Workers(queue.root).alive() == []


def test_kinds_that_do_not_load_are_said(queue, monkeypatch, capsys):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(queue.root))
    assert main(["--kinds", "engine.no_such_module", "--once"]) == 2
    assert "cannot load the job kinds of `engine.no_such_module`" in capsys.readouterr().err
    assert "no_such_module" in Workers(queue.root).trouble()
    assert main(["--kinds", "no\x1b[2J", "--once"]) == 2
    assert "no\\x1b[2J" in capsys.readouterr().err


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "replaced"])
def test_a_worker_ends_with_its_home(queue, payload, again, monkeypatch):
    monkeypatch.setattr(loop, "POLL", 0.01)
    job = queue.submit("slow", {**payload, "stops_at": 1, "sleep": 0.0}).id
    errors = []
    thread = serve(queue, idle_exit=None, raised=errors.append)
    wait_for(lambda: queue.get(job).done >= 1)
    os.rename(queue.root, queue.root.with_name("elsewhere"))
    if again:
        JobQueue(queue.root).jobs()
    Path(payload["mended"]).touch()
    thread.join(20)
    assert not thread.is_alive()
    assert isinstance(errors[0], StoreError) and "was deleted or replaced while in use" in str(errors[0])


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "replaced"])
def test_a_home_deleted_under_a_worker_is_said(queue, payload, start, again):
    job = queue.submit("slow", {**payload, "stops_at": 1}).id
    worker = start()
    wait_for(lambda: queue.get(job).done >= 1)
    os.rename(queue.root, queue.root.with_name("elsewhere"))
    if again:
        JobQueue(queue.root).jobs()
    Path(payload["mended"]).touch()
    assert worker.wait(90) == 2
    assert "was deleted or replaced while in use" in worker.stderr.read()
