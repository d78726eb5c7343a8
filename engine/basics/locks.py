"""Locks on files and folders that hold between processes, where the system has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # no locks on this system
    fcntl = None  # type: ignore[assignment]  # a module, or None where there is none


def share(file: IO[bytes]) -> None:
    """Wait until nobody has an open file alone, and keep others from having it alone until it is closed."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_SH)


def alone(file: IO[bytes]) -> bool:
    """Have an open file alone until it is closed; False where another has it, True where the system has no locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """What is done in an existing folder is done by one at a time; leaves no file behind."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
