"""The shelf of finished runs: each opens on the chart that waited for it."""

from __future__ import annotations

from datetime import UTC, datetime

from engine.experiments import reproduction
from engine.jobs import KINDS, Job, JobQueue
from engine.library import notes, views
from engine.library.entry import Entry, Parameters, Shelf
from engine.library.notes import Noted
from engine.store.results import Store, home
from engine.store.sketch import Sketch


class RunShelf(Shelf):
    name, title, noun = "runs", "Runs", "run"
    loss = "Its result is deleted too; to restore it, compute it again."

    def entries(self) -> list[Entry]:
        noted, store = notes.written(self.name), Store(home())
        entries = []
        for job in JobQueue(home()).jobs("done"):
            page, parameters = opening(job)
            gone = "" if store.has(job.id) else ("Its result is no longer in the store; compute it again, or delete "
                                                 "it.")
            spent = job.finished - job.started if job.finished and job.started else None
            entries.append(Entry(self.name, job.id, job.title, f"digest {job.id[:12]}",
                                 datetime.fromtimestamp(job.finished or job.created, UTC).isoformat(timespec="seconds"),
                                 page, parameters, noted.get(job.id, Noted()), gone, spent))
        return entries

    def has(self, key: str) -> bool:
        job = JobQueue(home()).get(key)
        return job is not None and job.state == "done"

    def sketch(self, key: str) -> Sketch | None:
        result = Store(home()).read(key)
        kind = result.manifest.get("kind", "")
        return KINDS[kind].sketch(result) if kind in KINDS else None

    def remove(self, key: str) -> None:
        JobQueue(home()).delete(key)


def opening(job: Job) -> tuple[str, Parameters]:
    """(page, parameters) of the chart of a finished job: where it was waited for, that of a study's table among
    the paper's, else its own tables."""
    if (view := views.of(job.id)) is not None:
        return view.page, view.parameters
    for name in reproduction.of_job(job.id, job.kind, job.payload):
        return "paper", {"experiment": [name], "preset": [str(job.payload["preset"])]}
    return "runs", {"run": [job.id]}
