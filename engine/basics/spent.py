"""What a piece of work takes of this process: CPU seconds, and memory at its peak beyond what was held before."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROCESS = Path("/proc/self")
RESET_PEAK = "5"
"""Written to `clear_refs`, it sets the peak of the resident memory to what is resident now (Linux, proc(5))."""


@dataclass
class Spent:
    """seconds: of all threads together. memory: bytes; NaN where the system does not say."""

    seconds: float = math.nan
    memory: float = math.nan


@contextmanager
def measured() -> Iterator[Spent]:
    """Filled in when the block ends."""
    spent, before, started = Spent(), _after_reset(), time.process_time()
    try:
        yield spent
    finally:
        spent.seconds = time.process_time() - started
        spent.memory = max(0.0, _resident("VmHWM") - before)


def _after_reset() -> float:
    try:
        (PROCESS / "clear_refs").write_text(RESET_PEAK)
    except OSError:
        return math.nan
    return _resident("VmRSS")


def _resident(field: str) -> float:
    """Bytes of a line such as `VmHWM:  13632 kB` of /proc/self/status."""
    try:
        lines = (PROCESS / "status").read_text().splitlines()
    except OSError:
        return math.nan
    return next((1024.0 * float(line.split()[1]) for line in lines if line.startswith(f"{field}:")), math.nan)
