"""Freed memory that goes back to the system: glibc's allocator would keep it, some for every thread."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

APART = 20.0
"""Seconds between two trims of a loop: batches of every length leave the allocator with pieces that fit no other."""


def trim() -> None:
    """Give back what is free; without effect where the C library has no `malloc_trim`."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library; Windows has no handle of the process itself
        return


def trimmer() -> Callable[[], None]:
    """What a loop calls in every turn: `trim`, unless the last one, or the start, is less than `APART` seconds ago."""
    last = time.monotonic()

    def trim_when_due() -> None:
        nonlocal last
        if time.monotonic() - last >= APART:
            trim()
            last = time.monotonic()

    return trim_when_due
