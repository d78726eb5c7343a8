"""What solvers have computed of a problem and share: built once, by whichever thread comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any


class Memory:
    """Values by key. A second thread waits for what the first is building."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[Hashable, Any]] = {}
        self._lock = threading.RLock()

    def memo(self, key: str, build: Callable[[], Any], version: Hashable = None) -> Any:
        """What `build()` made for `key`, made again only when `version` changes."""
        with self._lock:
            if key not in self._values or self._values[key][0] != version:
                self._values[key] = (version, build())
            return self._values[key][1]

    def values(self) -> list[Any]:
        """All that is kept now."""
        with self._lock:
            return [value for _, value in self._values.values()]
