"""Runs that hold scores: finished ones in the store, and those under way in the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from engine.basics.errors import InvalidInput, StoreError
from engine.desk.jobs import Jobs
from engine.desk.titles import problem_title
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.requests import check_queued
from engine.runs import scores as score_runs
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring


def finished(jobs: Jobs, source: ProblemSource, scorings: Sequence[Scoring], count: int) -> dict[Scoring, Scores]:
    """Those of the scorings that finished runs hold over the first `count` candidates."""
    found: dict[Scoring, Scores] = {}
    for result in jobs.store.entries():
        computed = _computed(result.manifest, source, count)
        wanted = (set(scorings) - set(found)) & set(computed)
        if wanted:
            with suppress(StoreError):  # damaged: it is set aside, and computed anew
                loaded = score_runs.load(jobs.store.read(result.digest), computed)
                found |= {scores.scoring: scores for scores in loaded if scores.scoring in wanted}
    return found


def under_way(jobs: Jobs, source: ProblemSource, scorings: Sequence[Scoring], count: int) -> Waiting:
    """Wait for a run that computes all of the scorings, which is queued where there is none."""
    for job in jobs.queue.jobs("queued", "running"):
        if set(scorings) <= set(_computed({"kind": job.kind, "payload": job.payload}, source, count)):
            jobs.ensure_worker()
            return Waiting(job.title, job=job.id)
    check_queued(scorings)
    title = (f"{len(scorings)} specification{'s' if len(scorings) > 1 else ''} on {problem_title(source)}, "
             f"{count} candidates")
    return jobs.wait(score_runs.KIND, score_runs.payload(source, scorings, count), title)


def _computed(run: Mapping[str, Any], source: ProblemSource, count: int) -> tuple[Scoring, ...]:
    """The scorings that a run computes, in its order; none where it is not a run over these candidates."""
    if run.get("kind") != score_runs.KIND:
        return ()
    payload = run["payload"]
    try:
        computed = score_runs.scorings_of(payload)
    except InvalidInput:  # of a behavior that this process does not know
        return ()
    return tuple(computed) if payload == score_runs.payload(source, computed, count) else ()
