"""Runs that hold scores: finished ones in the store, and those under way in the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from engine.basics.errors import InvalidInput, StoreError
from engine.desk.jobs import Jobs
from engine.desk.waiting import Waiting
from engine.jobs import stored_chunks
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring


def request(source: ProblemSource, scorings: Sequence[Scoring], count: int) -> ScoresRequest:
    """The job that scores the first `count` candidates of a source."""
    return ScoresRequest(scorings=tuple(scorings), candidates=count, source=source)


def finished(jobs: Jobs, source: ProblemSource, scorings: Sequence[Scoring], count: int) -> dict[Scoring, Scores]:
    """Those of the scorings that finished runs hold over the first `count` candidates."""
    scores: dict[Scoring, Scores] = {}
    for result in jobs.store.entries():
        wanted = (set(scorings) - set(scores)) & set(_computed(result.manifest, source, count))
        if wanted:
            with suppress(StoreError):  # damaged: it is set aside, and computed anew
                loaded = ScoresRequest.loaded(jobs.store.read(result.digest))
                scores |= {one.scoring: one for one in loaded if one.scoring in wanted}
    return scores


def begun(jobs: Jobs, source: ProblemSource, scorings: Sequence[Scoring], count: int) -> dict[Scoring, Scores]:
    """Those of the scorings that runs which are not done have computed over the first `count` candidates."""
    scores: dict[Scoring, Scores] = {}
    for job in jobs.queue.jobs("running", "queued", "cancelled", "failed"):
        if job.done and set(scorings) & set(_computed({"kind": job.kind, "payload": job.payload}, source, count)):
            with suppress(StoreError):  # another process has finished it meanwhile
                complete = ScoresRequest.of_payload(job.payload).complete(
                    stored_chunks(job.kind, job.payload, jobs.root))
                scores |= {one.scoring: one for one in complete if one.scoring in scorings}
    return scores


def under_way(jobs: Jobs, source: ProblemSource, scorings: Sequence[Scoring], count: int) -> Waiting:
    """Wait for a run that computes all of the scorings, which is queued where there is none."""
    for job in jobs.queue.jobs("queued", "running"):
        if set(scorings) <= set(_computed({"kind": job.kind, "payload": job.payload}, source, count)):
            jobs.ensure_worker()
            return Waiting(job.title, job=job.id)
    wanted = request(source, scorings, count)
    wanted.check_queued()
    return jobs.wait(wanted.name, wanted.payload, wanted.job_title)


def _computed(run: Mapping[str, Any], source: ProblemSource, count: int) -> tuple[Scoring, ...]:
    """The scorings that a run computes, in its order; none where it is not a run over these candidates."""
    if run.get("kind") != ScoresRequest.name:
        return ()
    try:
        computed = ScoresRequest.of_payload(run["payload"]).scorings
    except InvalidInput:  # of a behavior that this process does not know
        return ()
    return computed if run["payload"] == request(source, computed, count).payload else ()
