"""What solvers have computed of a problem and share: built once, by whichever thread comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any

Entries = Mapping[str, tuple[Hashable, Any]]
"""(version, value) by key."""


class ProblemMemory:
    """Values by key. A second thread waits for what the first is building of the same key, and for no other.

    A build may ask for other keys, and may wait for a lock that a thread asking for other keys holds.
    """

    def __init__(self, entries: Entries | None = None) -> None:
        self._values: dict[str, tuple[Hashable, Any]] = dict(entries or {})
        self._building: dict[str, threading.RLock] = {}
        self._lock = threading.Lock()

    def memo(self, key: str, build: Callable[[], Any], version: Hashable = None) -> Any:
        """What `build()` made for `key`, made again only when `version` changes."""
        with self._lock:
            building = self._building.setdefault(key, threading.RLock())
        with building:
            with self._lock:
                entry = self._values.get(key)
            if entry is None or entry[0] != version:
                entry = (version, build())
                with self._lock:
                    self._values[key] = entry
            return entry[1]

    def holds(self, key: str) -> bool:
        """Whether something was made for `key`; what is being built is not there yet."""
        with self._lock:
            return key in self._values

    def entries(self) -> Entries:
        """All that is kept now."""
        with self._lock:
            return dict(self._values)

    def adopt(self, key: str, version: Hashable, value: Any) -> None:
        """Keep what another process made for `key`, unless something is there."""
        with self._lock:
            self._values.setdefault(key, (version, value))

    def values(self) -> list[Any]:
        """All that is kept now."""
        with self._lock:
            return [value for _, value in self._values.values()]
