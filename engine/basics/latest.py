"""The value of the last key, cached until another key is used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Latest(Generic[V]):
    """One value by its key, for all threads: a second thread waits for what the first is building.

    >>> squares = Latest()
    >>> squares.get(3, lambda: 3 * 3), squares.get(3, lambda: 1 / 0)
    (9, 9)
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entry: tuple[Hashable, V] | None = None

    def get(self, key: Hashable, build: Callable[[], V]) -> V:
        """The value of `key`, built where the last key was another, whose value is released first: memory holds one."""
        with self._lock:
            if self._entry is not None and self._entry[0] == key:
                return self._entry[1]
            self._entry = None
            value = build()
            self._entry = key, value
            return value

    def forget(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._entry = None
