"""Freed memory that goes back to the system: glibc's allocator would keep it, a share for every thread."""

from __future__ import annotations

import ctypes


def trim() -> None:
    """Give back what is free; without effect where the C library has no `malloc_trim`."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library; Windows has no handle of the process itself
        return
