"""The queues that one worker serves: that of its folder, and those of the homes in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.basics.folders import user_homes
from engine.jobs.queue import Job, JobQueue


class Queues:
    """Serves whoever was not served for the longest time first, so that nobody's long list keeps others waiting."""

    def __init__(self, shared: Path) -> None:
        self.shared = shared
        self._turns: dict[Path, int] = {}
        self._served = 0

    def in_turn(self) -> Iterator[JobQueue]:
        """The queue of the shared folder, which need not be there yet, and those that are there in its homes."""
        homes = [home for home in user_homes(self.shared) if (home / "queue.sqlite").is_file()]
        for home in sorted([self.shared, *homes], key=lambda home: self._turns.get(home, 0)):
            yield JobQueue(home)

    def claim(self, worker: str, dead_after: float | None) -> tuple[JobQueue, Job] | None:
        """The next job, now running on `worker`, with its queue; None if none waits. One in the background waits until
        no other waits in any queue."""
        queues = list(self.in_turn())
        for queue in queues:
            queue.requeue_dead(dead_after)
        for background in (False, True):
            for queue in queues:
                if queue.waits(background) and (job := queue.claim(worker)) is not None:
                    self._served += 1
                    self._turns[queue.root] = self._served
                    return queue, job
        return None

    def waiting(self, background: bool = True) -> bool:
        """Whether a job waits in any of them, those in the `background` counted or not."""
        return any(queue.waits(background) for queue in self.in_turn())
