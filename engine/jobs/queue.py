"""The queue of jobs: who asked for what, how far it is, and who computes it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.basics.quota import require_room
from engine.jobs.database import Database
from engine.jobs.estimate import TimeEstimate, crowd_now
from engine.jobs.kinds import Progress, canonical, job_digest
from engine.jobs.run import forget_chunks
from engine.jobs.traces import Traces
from engine.store.results import Store

STATES = ("queued", "running", "done", "failed", "cancelled")
DEAD_AFTER = 15.0
"""Seconds without a heartbeat on a machine with a free core, see `silence`."""
AHEAD = 60.0
"""Seconds that a heartbeat may lie ahead: one further in the future is from before the clock was set back, and says
nothing."""
CRASHES = 3
DAMAGED = "The row of this run in the queue is damaged, so its request cannot be read; delete it, and request it again."


class JobLost(WhichfluenceError):
    """The job is not this worker's any more: it was thought dead, and another took over."""


@dataclass(frozen=True)
class Job:
    """One row of the queue, as it was when it was read. Times are seconds since 1970.

    background: whether a page started it by itself; what a person asked for goes first. low, high: the ends of the 90%
    interval of `seconds_left`. spent: seconds that it has run, until it last stopped. predicted, predicted_low,
    predicted_high: seconds that it was expected to take when it first began, or was queued, with the same interval.
    batch: the piece of work of which it is the part `part`, called `batch_title`; empty where it is one by itself.
    """

    id: str
    kind: str
    payload: dict[str, Any]
    title: str
    state: str
    done: int
    total: int
    share: float
    seconds_left: float | None
    message: str
    error: str
    worker: str | None
    heartbeat: float | None
    cancel: bool
    crashes: int
    created: float
    queued: float
    started: float | None
    updated: float
    finished: float | None
    background: bool = False
    low: float | None = None
    high: float | None = None
    spent: float = 0.0
    predicted: float | None = None
    predicted_low: float | None = None
    predicted_high: float | None = None
    batch: str = ""
    batch_title: str = ""
    part: str = ""

    @property
    def predicted_estimate(self) -> TimeEstimate | None:
        """What it was expected to take, with the interval."""
        if self.predicted is None or self.predicted_low is None or self.predicted_high is None:
            return None
        return TimeEstimate(self.predicted, self.predicted_low, self.predicted_high)

    @property
    def active(self) -> bool:
        """Whether it still has to be computed."""
        return self.state in ("queued", "running")

    def time_left(self, now: float | None = None) -> float | None:
        """Seconds until it is done, judged by its finished chunks; None while that is unknown.

        A chunk that takes longer than expected leaves the later ones ahead, which count as equal parts of what was
        left; 0 where it is the last one.
        """
        return self._decayed(self.seconds_left, now)

    def interval_left(self) -> tuple[float, float] | None:
        """The 90% interval of `time_left`; None while that is unknown."""
        low, high = self._decayed(self.low), self._decayed(self.high)
        return None if low is None or high is None else (low, high)

    def _decayed(self, seconds: float | None, now: float | None = None) -> float | None:
        if self.state != "running" or seconds is None:
            return None
        left = self.total - self.done
        ahead = seconds * (left - 1) / left if left > 1 else 0.0
        return max(ahead, seconds - ((now or time.time()) - self.updated))

    def stalled(self) -> bool:
        """Whether its worker has not been heard for so long that it counts as dead."""
        return self.state == "running" and not -AHEAD <= time.time() - (self.heartbeat or 0.0) <= silence()


def silence() -> float:
    """Seconds without a heartbeat after which a worker counts as dead: its beats wait for a core, as all else does."""
    return DEAD_AFTER * crowd_now()


def heard(now: float, within: float | None = None) -> tuple[float, float]:
    """The first and the last heartbeat of whoever counts as alive. within: seconds (default: `silence`)."""
    return now - (silence() if within is None else within), now + AHEAD


class JobQueue:
    """The jobs of one home folder. Safe to use from several threads and processes at once."""

    def __init__(self, root: Path | str | None = None) -> None:
        self.store = Store(root)
        self.root = self.store.root
        self.database = Database(self.root / "queue.sqlite")
        self.traces = Traces(self.database)

    def submit(self, kind: str, payload: Mapping[str, Any], title: str = "", background: bool = False) -> Job:
        """The job (kind, payload), queued if it is new; behind all others if it is in the `background`, which ends as
        soon as a person asks for it.

        The same question is the same job: one that is queued, running or done is returned as it is; one
        whose result is in the store is done; one that failed or was cancelled waits for `resume`.
        """
        text, digest, now = canonical(payload), job_digest(kind, payload), time.time()
        state, expected = "done" if self.store.has(digest) else "queued", None
        if state == "queued" and self.get(digest) is None:
            require_room(home=self.root)
            expected = self.traces.estimate(kind, payload)
        with self.database.writing() as connection:
            connection.execute(
                "INSERT INTO jobs (id, kind, payload, title, state, share, created, queued, updated, finished, "
                "background, predicted, predicted_low, predicted_high) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "payload = excluded.payload, background = min(background, excluded.background)",
                (digest, kind, text, title or kind, state, float(state == "done"), now, now, now,
                 now if state == "done" else None, background, *_ends(expected)))
            if state == "queued":  # done once, but its result was deleted or set aside
                connection.execute(f"{_REQUEUE}, spent = 0 WHERE id = ? AND state = 'done'", (now, now, digest))
            else:
                connection.execute("UPDATE jobs SET state = 'done', share = 1, error = '', finished = ?, updated = ? "
                                   "WHERE id = ? AND state IN ('queued', 'failed', 'cancelled')", (now, now, digest))
            return _job(connection.execute("SELECT * FROM jobs WHERE id = ?", (digest,)).fetchone())

    def get(self, job: str) -> Job | None:
        """The job of that id, or None."""
        return next(iter(self._read("SELECT * FROM jobs WHERE id = ?", (job,))), None)

    def jobs(self, *states: str, limit: int = 500) -> list[Job]:
        """The jobs in any of `states` (default: all), the last one submitted first."""
        chosen = states or STATES
        marks = ", ".join("?" * len(chosen))
        return self._read(f"SELECT * FROM jobs WHERE state IN ({marks}) ORDER BY queued DESC, rowid DESC LIMIT ?",
                          (*chosen, limit))

    def together(self, batch: str, title: str, parts: Mapping[str, str]) -> None:
        """Make jobs the parts of one piece of work. parts: job -> what it is called in it. Writes only what is new."""
        marks = ", ".join("?" * len(parts))
        with self.database.reading() as connection:
            known = connection.execute(f"SELECT COUNT(*) FROM jobs WHERE batch = ? AND id IN ({marks})",
                                       (batch, *parts)).fetchone()[0]
        if known < len(parts):
            with self.database.writing() as connection:
                connection.executemany("UPDATE jobs SET batch = ?, batch_title = ?, part = ? WHERE id = ?",
                                       [(batch, title, part, job) for job, part in parts.items()])

    def batch(self, batch: str) -> list[Job]:
        """The parts of a piece of work, by what they are called."""
        return self._read("SELECT * FROM jobs WHERE batch = ? ORDER BY part, created, rowid", (batch,))

    def request_cancel(self, job: str) -> None:
        """Stop a job: at once if nobody computes it, else as soon as its worker looks. What it finished is kept."""
        self._cancel("id = ?", job)

    def request_cancel_batch(self, batch: str) -> None:
        """Stop every part of a piece of work, as `request_cancel` stops one."""
        self._cancel("batch = ?", batch)

    def request_cancel_all(self) -> None:
        """Stop every job that waits or runs, as `request_cancel` stops one."""
        self._cancel("TRUE")

    def _cancel(self, which: str, *values: str) -> None:
        now = time.time()
        with self.database.writing() as connection:
            connection.execute("UPDATE jobs SET state = 'cancelled', finished = ?, updated = ? "
                               f"WHERE {which} AND (state = 'queued' OR state = 'running' "
                               "AND heartbeat NOT BETWEEN ? AND ?)", (now, now, *values, *heard(now)))
            connection.execute(f"UPDATE jobs SET cancel = 1 WHERE {which} AND state = 'running'", values)

    def resume(self, job: str) -> None:
        """Queue a failed or cancelled job again, as what a person asked for, to go on from its last finished chunk."""
        now = time.time()
        with self.database.writing() as connection:
            connection.execute(f"{_REQUEUE}, background = 0 WHERE id = ? AND state IN ('failed', 'cancelled')",
                               (now, now, job))
            connection.execute("UPDATE jobs SET cancel = 0 WHERE id = ? AND state = 'running'", (job,))

    def delete(self, job: str) -> None:
        """Forget a job, its chunks and its result; `InvalidInput` while it runs."""
        with self.database.writing() as connection:
            row = connection.execute("SELECT title, state FROM jobs WHERE id = ?", (job,)).fetchone()
            if row and row["state"] == "running":
                raise InvalidInput(f"`{row['title']}` is running; cancel it before you delete it.")
            connection.execute("DELETE FROM jobs WHERE id = ?", (job,))
        self.store.delete(job)
        forget_chunks(self.root, job)

    def waits(self, background: bool = True) -> bool:
        """Whether a job waits to be claimed, those in the `background` counted or not; reads only."""
        with self.database.reading() as connection:
            return connection.execute("SELECT 1 FROM jobs WHERE state = 'queued' AND background <= ? LIMIT 1",
                                      (background,)).fetchone() is not None

    def claim(self, worker: str) -> Job | None:
        """The job that has waited longest, one in the background after all others, now running on `worker`; None if
        none waits. No two workers get one.

        A job whose row is damaged is set aside on the way.
        """
        while True:
            now = time.time()
            with self.database.writing() as connection:
                row = connection.execute(
                    "UPDATE jobs SET state = 'running', worker = ?, heartbeat = ?, started = ?, updated = ?, "
                    "cancel = 0, error = '', seconds_left = NULL, low = NULL, high = NULL "
                    "WHERE id = (SELECT id FROM jobs WHERE "
                    "state = 'queued' ORDER BY background, queued, rowid LIMIT 1) RETURNING *",
                    (worker, now, now, now)).fetchone()
            if row is None:
                return None
            job = _job(row)
            if job.payload is not None and job_digest(job.kind, job.payload) == job.id:
                return job
            self._set_aside([job.id])

    def heartbeat(self, job: str, worker: str) -> bool:
        """Say that `worker` is alive and computes `job`; return whether the job was asked to stop.

        `JobLost` if the job is not this worker's any more.
        """
        return self._mine(job, worker, "heartbeat = ?", time.time())

    def begin(self, job: str, worker: str, expected: TimeEstimate | None) -> None:
        """Record what the job is expected to take, judged when it first begins."""
        self._mine(job, worker, "predicted = ?, predicted_low = ?, predicted_high = ?", *_ends(expected))

    def report(self, job: str, worker: str, progress: Progress) -> bool:
        """Record progress, which is a heartbeat as well; a chunk more than before forgives earlier crashes."""
        now = time.time()
        return self._mine(
            job, worker,
            "heartbeat = ?, updated = ?, crashes = CASE WHEN ? > done THEN 0 ELSE crashes END, "
            "done = ?, total = ?, share = ?, seconds_left = ?, low = ?, high = ?, message = ?",
            now, now, progress.done, progress.done, progress.total, progress.share, progress.seconds_left,
            *(progress.interval or (None, None)), progress.message)

    def finish(self, job: str, worker: str) -> None:
        """The result is in the store."""
        now = time.time()
        self._mine(job, worker, "state = 'done', done = total, share = 1, seconds_left = NULL, message = '', "
                   f"{_SPENT}, finished = ?, updated = ?, crashes = 0", now, now, now)

    def fail(self, job: str, worker: str, sentence: str) -> None:
        """The job cannot go on; `sentence` says why."""
        now = time.time()
        self._mine(job, worker, f"state = 'failed', error = ?, {_SPENT}, finished = ?", sentence, now, now)

    def stop(self, job: str, worker: str) -> None:
        """The job was cancelled."""
        now = time.time()
        self._mine(job, worker, f"state = 'cancelled', cancel = 0, {_SPENT}, finished = ?", now, now)

    def release(self, job: str, worker: str) -> None:
        """Put the job back to where it was in the queue: its worker leaves in good order."""
        self._mine(job, worker, f"state = CASE WHEN cancel THEN 'cancelled' ELSE 'queued' END, {_SPENT}, worker = NULL",
                   time.time())

    def requeue_dead(self, older_than: float | None = None) -> list[str]:
        """Queue the jobs again whose workers have been silent for `older_than` seconds (default: `silence`); return
        their ids.

        A job that was to be cancelled is cancelled; one whose workers died `CRASHES` times without finishing
        a chunk fails.
        """
        dead = "state = 'running' AND heartbeat NOT BETWEEN ? AND ?"
        now = time.time()
        heard_of = heard(now, older_than)
        with self.database.reading() as connection:
            if not connection.execute(f"SELECT 1 FROM jobs WHERE {dead}", heard_of).fetchone():
                return []
        with self.database.writing() as connection:
            rows = connection.execute(
                "UPDATE jobs SET worker = NULL, crashes = crashes + 1, updated = ?, "
                "spent = spent + max(0, min(heartbeat, updated) - started), "
                "finished = CASE WHEN cancel OR crashes + 1 >= ? THEN ? END, "
                "error = CASE WHEN cancel OR crashes + 1 < ? THEN '' ELSE ? END, "
                "state = CASE WHEN cancel THEN 'cancelled' WHEN crashes + 1 >= ? THEN 'failed' ELSE 'queued' END "
                f"WHERE {dead} RETURNING id", (now, CRASHES, now, CRASHES, _CRASHED, CRASHES, *heard_of))
            return [row["id"] for row in rows.fetchall()]

    def _read(self, query: str, values: tuple) -> list[Job]:
        """The jobs of a query; damaged rows are set aside first, so that they stand among the failed ones."""
        for _ in range(2):
            with self.database.reading() as connection:
                jobs = [_job(row) for row in connection.execute(query, values).fetchall()]
            damaged = [job.id for job in jobs if job.payload is None and job.state != "failed"]
            if not damaged:
                break
            self._set_aside(damaged)
        return [replace(job, payload={}) if job.payload is None else job for job in jobs]

    def _set_aside(self, jobs: list[str]) -> None:
        now = time.time()
        with self.database.writing() as connection:
            connection.executemany("UPDATE jobs SET state = 'failed', error = ?, worker = NULL, finished = ?, "
                                   "updated = ? WHERE id = ?", [(DAMAGED, now, now, job) for job in jobs])

    def _mine(self, job: str, worker: str, change: str, *values: Any) -> bool:
        with self.database.writing() as connection:
            row = connection.execute(f"UPDATE jobs SET {change} WHERE id = ? AND worker = ? AND state = 'running' "
                                     "RETURNING cancel", (*values, job, worker)).fetchone()
        if row is None:
            raise JobLost(f"Job {job[:12]} was taken over by another worker or deleted; nothing needs to be done.")
        return bool(row["cancel"])


_REQUEUE = ("UPDATE jobs SET state = 'queued', queued = ?, updated = ?, error = '', cancel = 0, crashes = 0, "
            "finished = NULL, worker = NULL, seconds_left = NULL, low = NULL, high = NULL, message = ''")
_SPENT = "spent = spent + max(0, ? - started)"
_CRASHED = (f"The worker died {CRASHES} times without finishing a chunk, possibly out of memory; free some "
            "memory or choose a smaller run, then resume it.")


def _ends(expected: TimeEstimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if expected is None else (expected.seconds, expected.low, expected.high)


def _job(row: sqlite3.Row) -> Job:
    """payload: None where what the row holds is no JSON object."""
    try:
        payload = json.loads(row["payload"])
    except (ValueError, RecursionError):
        payload = None
    return Job(**{**dict(row), "payload": payload if isinstance(payload, dict) else None,
                  "cancel": bool(row["cancel"]), "background": bool(row["background"])})
