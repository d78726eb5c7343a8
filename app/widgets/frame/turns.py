"""Pages are computed one after the other, as far as none takes long.

Threads of one Python process share one interpreter: fifty pages that are computed at once all take as long as all of
them together, and one after the other half as long on average. A page that has waited for `PATIENCE` begins anyway, so
that one which computes for seconds holds nobody up for longer than that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0
"""Seconds that a page waits for its turn."""
_turn = threading.Semaphore(1)


@contextmanager
def turn(patience: float = PATIENCE) -> Iterator[bool]:
    """Whether it is this page's turn: nobody else's, or nobody's whom it waits for."""
    mine = _turn.acquire(timeout=patience)
    try:
        yield mine
    finally:
        if mine:
            _turn.release()
