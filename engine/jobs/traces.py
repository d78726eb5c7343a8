"""What jobs took on this machine: a row a job in the queue's file, which outlives it, and what that says of others."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from engine.jobs.database import Database
from engine.jobs.estimate import LATEST, JobWork, TimeEstimate, Trace, crowd_now, estimate
from engine.jobs.kinds import KINDS

SHIPPED = Path(__file__).parents[2] / "assets" / "embedded" / "traces.json"
"""Traces of a reference machine, from which the first estimates of a new machine come."""


class Traces:
    """The traces of a queue's file."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def read(self) -> list[Trace]:
        """The latest ones, the last one first."""
        with self.database.reading() as connection:
            rows = connection.execute("SELECT * FROM traces ORDER BY ended DESC LIMIT ?", (LATEST,)).fetchall()
        return [Trace(JobWork(row["kind"], row["work"], tuple(json.loads(row["words"]))), row["seconds"],
                      row["processor"], row["ended"], row["crowd"]) for row in rows]

    def record(self, job: str, trace: Trace) -> None:
        """Write what was computed of a job, in place of what was known of it before."""
        with self.database.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO traces (job, kind, work, words, seconds, processor, ended, crowd) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (job, trace.work.kind, trace.work.seconds, json.dumps(trace.work.words), trace.seconds,
                 trace.processor, trace.ended, trace.crowd))

    def estimate(self, kind: str, payload: Mapping[str, Any]) -> TimeEstimate | None:
        """How long the job (kind, payload) takes on this machine; None where it cannot be said, as of unknown kinds and
        of data that are not here."""
        work = work_of(kind, payload)
        return None if work is None else estimate(work, [*shipped(), *self.read()], time.time(), crowd_now())


def work_of(kind: str, payload: Mapping[str, Any]) -> JobWork | None:
    """What a job is, for its duration; None where its kind or its data are not here, or where that kind is wrong, which
    is said when it runs."""
    try:
        return KINDS[kind].work(payload)
    except Exception:
        return None


@cache
def shipped() -> tuple[Trace, ...]:
    """The traces of the reference machine, at their times; none where the file is missing."""
    if not SHIPPED.is_file():
        return ()
    stored = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return tuple(Trace(JobWork(row["kind"], row["work"], tuple(row["words"])), row["seconds"], row["processor"],
                       row["ended"], row["crowd"], stored["machine"]) for row in stored["traces"])
