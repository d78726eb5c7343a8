"""Durations and moments as people say them."""

from __future__ import annotations

import time
from datetime import datetime
from zoneinfo import ZoneInfo


def spell(seconds: float) -> str:
    """`12 s`, `3 min`, `1 h 20 min`.

    >>> spell(4800)
    '1 h 20 min'
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def moment(seconds: float | None, zone: str | None = None, now: float | None = None) -> str:
    """A time since 1970 on the reader's clock: `14:05` on the same day, else `3 Mar 14:05`; `–` for None."""
    if seconds is None:
        return "–"
    zoned = _zone(zone)
    then, today = datetime.fromtimestamp(seconds, zoned), datetime.fromtimestamp(now or time.time(), zoned)
    if then.date() == today.date():
        return f"{then:%H:%M}"
    return f"{then.day} {then:%b %H:%M}" if then.year == today.year else f"{then.day} {then:%b %Y %H:%M}"


def written(text: str, zone: str | None = None) -> str:
    """`moment` of a time in ISO 8601; a text that is none stays as it is."""
    try:
        return moment(datetime.fromisoformat(text).timestamp(), zone)
    except ValueError:
        return text


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):
        return None
