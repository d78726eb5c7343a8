"""How long a run will take: judged by finished ones of its kind on this machine; before the first one, a range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from app.widgets.jobs.desk import desk
from app.widgets.words.times import spell

LEAST, MOST = 0.5, 10.0
"""How far a run on a machine of which nothing is known may be from the guess: on a quick one, and on a busy one."""
LATEST = 20
"""How many finished runs are judged by, the latest ones."""


def described(kind: str, guessed: float, guess: Callable[[Mapping[str, Any]], float]) -> str:
    """`about 3 min, judging by 2 such runs on this machine`, or `20 s to 6 min` with what that rests on.

    guessed: seconds of the requested run. guess: the same for the payload of a finished run of this kind; what
    is stated is `guessed` times the median of (seconds that a run took) / (seconds guessed for it).
    """
    finished = [job for job in desk().jobs.queue.jobs("done") if job.kind == kind and job.started and job.finished]
    latest = sorted(finished, key=lambda job: -(job.finished or 0.0))[:LATEST]
    ratios = [((job.finished or 0.0) - (job.started or 0.0)) / max(guess(job.payload), 1.0) for job in latest]
    if not ratios:
        return f"{between(guessed)} on two processor cores; no such run has finished on this machine yet"
    runs = "one such run" if len(ratios) == 1 else f"{len(ratios)} such runs"
    return f"about {spell(guessed * median(ratios))}, estimated from {runs} on this machine"


def between(guessed: float) -> str:
    """The range in which a guess for two cores of an unknown machine lies."""
    return f"{spell(LEAST * guessed)} to {spell(MOST * guessed)}"
