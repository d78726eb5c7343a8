"""Time against errors: what the review has brought, what is likely left, and when it is time to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.widgets.words import glossary
from app.widgets.words.times import spell
from engine.desk.analyses import Decision
from engine.desk.noisy_labels import Pace, pace

ENOUGH = 10
"""Decisions from which on a rate is told."""


def show(decisions: Mapping[int, Decision], flagged: Sequence[int]) -> None:
    """A line; nothing where little is decided."""
    now = pace(decisions, flagged)
    if now is not None and now.of >= ENOUGH:
        glossary.caption(f"{_so_far(now)} {_left(now)}")


def _so_far(now: Pace) -> str:
    took = f" in {spell(now.seconds)} of work" if now.seconds else ""
    hourly = f", {3_600 * now.found / now.seconds:,.0f} an hour" if now.seconds > 60 and now.found else ""
    return f"{now.found:,} wrong labels among {now.decided:,} decided{took}{hourly}."


def _left(now: Pace) -> str:
    rate = f"Of the last {now.of}, {now.wrong} are wrong."
    if not now.left:
        return rate
    low, high = (round(now.left * bound) for bound in now.interval)
    time = f"take about {spell(now.left * now.each)} more and " if now.each == now.each else ""
    stop = " You can stop here." if now.wrong <= 1 and now.of == 20 else ""
    return (f"{rate} At this rate the other {now.left:,} flagged {time}hold about {now.expected:.0f} wrong labels "
            f"(95% interval {low:,} to {high:,}), or fewer, as suspicion falls along the list.{stop}")
