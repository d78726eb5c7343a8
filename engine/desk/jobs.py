"""The long work of a desk: jobs in the queue, the worker that they need, and what they have left in the store."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.desk.waiting import Waiting
from engine.jobs import Job, JobQueue, Workers, ensure_worker, job_digest
from engine.jobs.cluster import Node, nodes_seen
from engine.store.results import Result, Store, digest_of, home


class Jobs:
    """The queue and the store of one home folder. root: default `home()`, as it is when something is asked."""

    def __init__(self, root: Path | str | None = None) -> None:
        self._root = root
        self._queue: JobQueue | None = None
        self._lock = threading.Lock()

    @property
    def root(self) -> Path:
        return home() if self._root is None else Path(self._root)

    @property
    def queue(self) -> JobQueue:
        """The jobs of the folder."""
        with self._lock:
            if self._queue is None or self._queue.root != self.root:
                self._queue = JobQueue(self.root)
            return self._queue

    @property
    def store(self) -> Store:
        """The results of the folder."""
        return Store(self.root)

    def submit(self, kind: str, payload: Mapping[str, Any], title: str, background: bool = False) -> Job:
        """The job (kind, payload), queued if it is new, with a worker that will run it. background: it was started by
        a page, and what a person asks for goes first."""
        job = self.queue.submit(kind, payload, title=title, background=background)
        if job.active:
            self.ensure_worker()
        return job

    def take_up(self, kind: str, payload: Mapping[str, Any], title: str) -> Job:
        """The same; one that failed or was cancelled goes on where it stopped."""
        job = self.queue.submit(kind, payload, title=title)
        if job.state in ("failed", "cancelled"):
            self.queue.resume(job.id)
        self.ensure_worker()
        return self.queue.get(job.id) or job

    def resume(self, job: str) -> None:
        """Queue a failed or cancelled job again, with a worker that will run it."""
        self.queue.resume(job)
        self.ensure_worker()

    def wait(self, kind: str, payload: Mapping[str, Any], title: str) -> Waiting:
        """What to wait for, so that the job (kind, payload) is done; it runs in the background."""
        job = self.submit(kind, payload, title, background=True)
        return Waiting(job.title, job=job.id)

    def together(self, title: str, key: Sequence[str], parts: Sequence[tuple[str, Waiting]], of: int) -> Waiting:
        """What to wait for, of several jobs that are one piece of work; of one it is that itself.

        key: what determines the piece. parts: what each that is not done is called, and what it waits for, a job or a
        model that is trained in this process. of: how many parts there are in all.
        """
        jobs = {waiting.job: name for name, waiting in parts if waiting.job is not None}
        if of < 2 or not jobs:
            return parts[0][1]
        batch = digest_of({"title": title, "key": list(key)})
        self.queue.together(batch, title, jobs)
        here = next((waiting for _, waiting in parts if waiting.job is None), Waiting(title))
        return replace(here, what=title, job=next(iter(jobs)), batch=batch)

    def find(self, kind: str, payload: Mapping[str, Any]) -> Job | None:
        """The job (kind, payload), if anybody asked for it."""
        return self.queue.get(job_digest(kind, payload))

    def under_way(self, kind: str, payload: Mapping[str, Any]) -> Waiting | None:
        """What to wait for, where the job (kind, payload) was asked for and is not done, be it stopped or failed."""
        job = self.find(kind, payload)
        return None if job is None or job.state == "done" else Waiting(job.title, job=job.id)

    def result(self, kind: str, payload: Mapping[str, Any]) -> Result | None:
        """What the job (kind, payload) has left; None where it is not done. Raises `StoreError` for damage."""
        digest = job_digest(kind, payload)
        return self.store.read(digest) if self.store.has(digest) else None

    def failure(self, answer: object, otherwise: str) -> str:
        """Why the job that an answer waits for has failed, in its own words or `otherwise`; empty where it has not."""
        job = self.queue.get(answer.job) if isinstance(answer, Waiting) and answer.job else None
        return job.error or otherwise if job is not None and job.state == "failed" else ""

    def ensure_worker(self) -> None:
        """Start a worker where none lives."""
        ensure_worker(self.root)

    def trouble(self) -> str:
        """Starts a worker where none lives; why there can be none, as a sentence, empty where all is well."""
        self.ensure_worker()
        return Workers(self.root).trouble()

    def workers(self) -> int:
        """How many workers are up."""
        return len(Workers(self.root).alive())

    def nodes(self) -> list[Node]:
        """The nodes that a cluster computes on now; [] where chunks are computed on this machine alone."""
        return nodes_seen(self.root)
