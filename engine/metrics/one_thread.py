"""Torch operations on one thread each, while whole blocks of work go to threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class _Limit:
    """How many calls have torch limited now, and its number of threads from before the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._before = 0

    def take(self) -> int:
        """Limit torch to one thread; the number of threads from before."""
        with self._lock:
            if self._calls == 0:
                self._before = torch.get_num_threads()
            self._calls += 1
            torch.set_num_threads(1)
            return self._before

    def give_back(self) -> None:
        """Put the number back. Every thread has a number of its own, so each call does, not the last one alone."""
        with self._lock:
            self._calls -= 1
            torch.set_num_threads(self._before)


_LIMIT = _Limit()


@contextmanager
def one_torch_thread() -> Iterator[int]:
    """Run torch operations on one thread each; yields the number of threads that torch had before.

    Splitting each small operation instead of the work as a whole costs a barrier every time. Several threads may be in
    here at once.
    """
    before = _LIMIT.take()
    try:
        yield before
    finally:
        _LIMIT.give_back()
