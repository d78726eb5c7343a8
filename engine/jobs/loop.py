"""The worker: takes jobs from the queue, runs them, and says all the while that it is alive."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from engine.basics.errors import Cancelled, StoreError, WhichfluenceError
from engine.basics.folders import at_home
from engine.jobs.estimate import JobWork, TimeEstimate, Trace, crowd_now
from engine.jobs.executor import Executor
from engine.jobs.held_home import HeldHome
from engine.jobs.kinds import Progress, Watch
from engine.jobs.queue import Job, JobLost, JobQueue
from engine.jobs.queues import Queues
from engine.jobs.run import run_job, sweep_chunks
from engine.jobs.traces import work_of
from engine.jobs.workers import Workers, new_worker_id

BEAT = 2.0  # seconds between heartbeats
POLL = 0.5  # seconds between looks into an empty queue


LEAST_COMPUTED = 0.1
"""The fraction of a job that has to be computed for a trace of it."""


class Stopping(WhichfluenceError):
    """The worker leaves, or another job goes first: this one goes back to the queue."""


class JobWatch(Watch):
    """Carries progress from a running job to the queue, and requests to stop from the queue to the job."""

    def __init__(self, queue: JobQueue, job: str, worker: str, stopping: threading.Event,
                 yields: Callable[[], bool] = lambda: False, work: JobWork | None = None,
                 estimate: TimeEstimate | None = None) -> None:
        self.queue, self.job, self.worker, self.yields = queue, job, worker, yields
        self.work, self.estimate = work, estimate
        self._begun: float | None = None
        self._computed, self._clocks, self._crowd = 0.0, _clocks(), crowd_now()
        self._stopping, self._cancelled, self._lost = stopping, threading.Event(), threading.Event()
        self._last, self._done = 0.0, -1

    def beat(self) -> None:
        """Say that the job is alive, and hear whether it should stop; called from the heartbeat thread too."""
        self._ask(self.queue.heartbeat)

    def report(self, progress: Progress) -> None:
        """Record every finished chunk, and what happens within one at most twice a second."""
        now = time.monotonic()
        if progress.done == self._done and now - self._last < POLL:
            return
        finished, self._last, self._done = progress.done > max(self._done, 0), now, progress.done
        self._ask(self.queue.report, progress)
        self._begun = progress.computed if self._begun is None else self._begun
        self._computed = progress.computed - self._begun
        if finished:
            self.trace()

    def trace(self) -> None:
        """Record what was computed of the job by now, and how long that took."""
        if self.work is None or self._computed < LEAST_COMPUTED:
            return
        seconds, processor = (now - begun for now, begun in zip(_clocks(), self._clocks, strict=True))
        work = replace(self.work, seconds=self.work.seconds * self._computed)
        with suppress(StoreError):  # the next chunk says it too
            self.queue.traces.record(self.job, Trace(work, seconds, processor, time.time(), self._crowd))

    def check(self) -> None:
        """Raise if the job was cancelled or is another worker's now; costs nothing."""
        if self._lost.is_set():
            raise JobLost("The job was taken over by another worker; nothing needs to be done.")
        if self._cancelled.is_set():
            raise Cancelled("The run was cancelled; its finished parts are stored, so it can be resumed.")

    def between_chunks(self) -> None:
        """Raise as well if the worker was asked to leave, or if the job yields to another."""
        self.beat()
        self.check()
        if self._stopping.is_set():
            raise Stopping("The worker received a stop signal.")
        if self.yields():
            raise Stopping("A user's run goes first.")

    def _ask(self, method: Callable[..., bool], *arguments: Progress) -> None:
        try:
            if method(self.job, self.worker, *arguments):
                self._cancelled.set()
        except JobLost:
            self._lost.set()
        except StoreError:
            pass  # a busy or full disk is no reason to lose a chunk: the next report may succeed


def _clocks() -> tuple[float, float]:
    """Seconds on the clock, and those of this process on all processors."""
    return time.monotonic(), time.process_time()


class Worker:
    """One worker process's loop; `stop` may be called from a signal handler.

    It serves the queue of its folder and those of the homes in it, one job of each in turn.
    """

    def __init__(self, root: Path | str | None = None, *, name: str | None = None, beat: float = BEAT,
                 dead_after: float | None = None, options: Mapping[str, Any] | None = None,
                 executor: Executor | None = None) -> None:
        self.workers, self.name = Workers(root), name or new_worker_id()
        self.queues = Queues(self.workers.root)
        self.interval, self.dead_after, self.options, self.executor = beat, dead_after, options, executor
        self._stopping, self._finished = threading.Event(), threading.Event()
        self._watch: JobWatch | None = None

    def stop(self) -> None:
        """Finish the chunk in hand, put the job back, and leave."""
        self._stopping.set()

    def serve(self, *, once: bool = False, idle_exit: float | None = None) -> None:
        """Run jobs until `stop`, until the queue is empty (`once`), or until idle for `idle_exit` seconds."""
        self.workers.join(self.name)
        for queue in self.queues.in_turn():
            queue.store.sweep()
            sweep_chunks(queue.root)
        with HeldHome(self.workers.root, (self.workers.database.path.name,)) as home:
            thread = threading.Thread(target=self._keep_beating, args=(home,), name="heartbeat", daemon=True)
            thread.start()
            try:
                self._serve(0.0 if once else idle_exit, home)
                home.check()
            finally:
                self._finished.set()
                thread.join()
                if home.stands:
                    with suppress(StoreError):
                        self.workers.leave(self.name)

    def _serve(self, patience: float | None, home: HeldHome) -> None:
        idle_since = time.monotonic()
        while not self._stopping.is_set():
            home.check()
            if (claimed := self.queues.claim(self.name, self.dead_after)) is not None:
                self.run(*claimed)
                idle_since = time.monotonic()
            elif patience is None or time.monotonic() - idle_since < patience:
                self._stopping.wait(POLL)
            elif self._leave():
                return

    def _leave(self) -> bool:
        """Leave, unless a job came meanwhile: one submitted while this worker stood on the table is seen here."""
        self.workers.leave(self.name)
        if not self.queues.waiting():
            return True
        self.workers.join(self.name)
        return False

    def run(self, queue: JobQueue, job: Job) -> None:
        """Run a claimed job and record how it ended; raises only `StoreError`, if that cannot be recorded."""
        try:
            with at_home(queue.root):
                self._watch = self._begun(queue, job)
                self._run(queue, job, self._watch)
        except JobLost:
            sweep_chunks(queue.root)
        finally:
            self._watch = None

    def _begun(self, queue: JobQueue, job: Job) -> JobWatch:
        """The watch of a job, with what it is expected to take, which is recorded where it has not run yet."""
        work, expected = work_of(job.kind, job.payload), queue.traces.estimate(job.kind, job.payload)
        if not job.spent:
            queue.begin(job.id, self.name, expected)
        return JobWatch(queue, job.id, self.name, self._stopping, yields=partial(self._yields, queue, job), work=work,
                        estimate=expected)

    def _yields(self, queue: JobQueue, job: Job) -> bool:
        """Whether a job that a page started, and that nobody has asked for since, lets another go first."""
        if not job.background:
            return False
        try:
            now = queue.get(job.id)
            return now is not None and now.background and self.queues.waiting(background=False)
        except StoreError:
            return False  # a busy queue is no reason to stop

    def _run(self, queue: JobQueue, job: Job, watch: JobWatch) -> None:
        mine = job.id, self.name
        try:
            run_job(job.kind, job.payload, queue.root, options=self.options, watch=watch, executor=self.executor)
        except Stopping:
            queue.release(*mine)
        except Cancelled:
            queue.stop(*mine)
        except JobLost:
            raise
        except WhichfluenceError as error:
            queue.fail(*mine, str(error))
        except Exception as error:
            queue.fail(*mine, self._unexpected(queue, job, error))
        else:
            queue.finish(*mine)
            watch.trace()

    def _unexpected(self, queue: JobQueue, job: Job, error: Exception) -> str:
        name = f"{job.id[:12]}-{time.strftime('%Y%m%dT%H%M%S')}.log"
        path = queue.root / "logs" / name
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        said = " ".join(str(error).split())[:200]
        return f"Unexpected error {type(error).__name__}{': ' if said else ''}{said}; its traceback is in logs/{name}."

    def _keep_beating(self, home: HeldHome) -> None:
        while not self._finished.wait(self.interval):
            if not home.stands:
                self._stopping.set()  # a beat would make the folder anew
                return
            with suppress(StoreError):  # the next beat may succeed
                self.workers.beat(self.name)
                if (watch := self._watch) is not None:
                    watch.beat()
