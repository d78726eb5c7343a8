"""How long a run will take, judged by what earlier ones took on this machine: a number where sure, or a range."""

from __future__ import annotations

from app.widgets.jobs.desk import desk
from app.widgets.words.times import spell
from engine.desk import JobRequest, TimeEstimate

LEAST, MOST = 0.5, 10.0
"""How far work on a machine of which nothing is known may be from the guess: on a quick one, and on a busy one."""
SURE = 3.0
"""Up to which ratio of its ends an interval is said as one number."""


def expected(request: JobRequest) -> str:
    """How long the job of a request takes, in words."""
    return described(desk().estimate(request))


def described(estimate: TimeEstimate | None) -> str:
    """`about 3 min, estimated from 2 such runs on this machine`, or `20 s to 6 min` with what that rests on."""
    if estimate is None:
        return "an unknown time"
    runs = "one such run" if estimate.jobs == 1 else f"{estimate.jobs} such runs"
    return spelled(estimate) + (f", estimated from {runs} on this machine" if estimate.jobs else
                                "; no such run has finished on this machine yet")


def spelled(estimate: TimeEstimate) -> str:
    """`about 3 min`, or the ends of the 90% interval where they are far apart."""
    return span(estimate.seconds, estimate.low, estimate.high)


def span(seconds: float, low: float, high: float) -> str:
    """The same of seconds with an interval."""
    ends = spell(low), spell(high)
    return f"about {spell(seconds)}" if high <= SURE * low or ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def between(guessed: float) -> str:
    """The range in which a guess for two cores of an unknown machine lies."""
    return f"{spell(LEAST * guessed)} to {spell(MOST * guessed)}"
