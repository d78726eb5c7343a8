"""How much memory a process has held at most, as its operating system counts it."""

from __future__ import annotations

import sys

KEY = "peak_resident_bytes"
"""Where a manifest says it."""
UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in what `getrusage` counts."""


def peak_resident() -> int | None:
    """Bytes of this process in memory at its peak, since it began (`ru_maxrss`); None where the system does not say.

    What it computed before counts too, so that for a part of its work this is an upper bound.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    return UNIT * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def manifest_part(*peaks: int | None) -> dict[str, int]:
    """`{"peak_resident_bytes": …}` for a manifest: the largest of `peaks`; empty unless all of them are known."""
    known = [peak for peak in peaks if peak is not None]
    return {KEY: max(known)} if known and len(known) == len(peaks) else {}
