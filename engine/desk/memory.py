"""What is cached in memory for whoever asks next, up to a number of bytes: the least recently used goes first."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine.basics.errors import InvalidInput
from engine.basics.footprint import storages

VARIABLE = "WHICHFLUENCE_MEMORY"
"""The environment variable with the bound of a `BoundedMemory`, in GB."""
DEFAULT = 0.6
ENTRY = 1_024
"""Bytes that a cached value counts for however small it is, so that small ones do not pile up without end."""
LEFT = 0.1
"""The fraction of the bound that is left for others beside a value that is over it alone."""
Cached = TypeVar("Cached")
_NOWHERE = 0
"""The address of what is not there yet."""


@dataclass
class _Entry:
    """A cached value. storages: address -> bytes when it was last measured; users: who must not lose it now."""

    value: Any
    storages: dict[int, int] = field(default_factory=dict)
    users: int = 0


class BoundedMemory:
    """Values by key, for all threads. bound: in bytes (default: WHICHFLUENCE_MEMORY in GB, else 0.6 GB).

    A storage that several values share counts once. Values may grow after they were put: all are measured anew
    whenever one is put, and the one that is asked for whenever it is. What was asked for last stays even if it alone
    is over the bound, and so does what is in use; a tenth of the bound is left for the others then, so that small
    answers are not lost to a large problem.

    Raises `InvalidInput` where the environment variable is not a positive number.
    """

    def __init__(self, bound: float | None = None) -> None:
        self.bound = bound_from_environment() if bound is None else bound
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._turns: dict[Hashable, tuple[threading.RLock, int]] = {}
        self._lock = threading.RLock()

    def get(self, key: Hashable) -> Any | None:
        """The value of `key`, from now on the most recently used one; None where it is not cached."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            entry.storages = storages(entry.value)
            self._drop()
            return entry.value

    def put(self, key: Hashable, value: Any) -> None:
        """Cache `value`, and drop what is over the bound then."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry(value))
            entry.value = value
            self._entries.move_to_end(key)
            self._measure()
            self._drop()

    def cached(self, key: Hashable, build: Callable[[], Cached]) -> Cached:
        """The value of `key`, made by `build()` where it is not cached; of several threads that ask, one makes it."""
        with self._turn(key):
            value = self.get(key)
            if value is None:
                value = build()
                self.put(key, value)
            return value

    @contextmanager
    def using(self, key: Hashable) -> Iterator[None]:
        """While it lasts, the value of `key` is not dropped; what it has grown by counts afterwards."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                entry.users += 1
        try:
            yield
        finally:
            with self._lock:
                if entry is not None:
                    entry.users -= 1
                self._measure()
                self._drop()

    def make_room(self, nbytes: int) -> None:
        """Drop what would be over the bound beside so many bytes that are about to be made, as if they were put."""
        with self._lock:
            self._measure()
            self._drop([_Entry(None, {_NOWHERE: nbytes})])

    @property
    def nbytes(self) -> int:
        """What all that is cached takes now."""
        with self._lock:
            self._measure()
            return _together(self._entries.values())

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._entries

    def _measure(self) -> None:
        for entry in self._entries.values():
            entry.storages = storages(entry.value)

    def _drop(self, coming: Sequence[_Entry] = ()) -> None:
        """Drop the least recently used values until the rest fits, beside what is `coming` or else the last one;
        never what is in use."""
        if _together([*self._entries.values(), *coming]) <= self.bound:
            return
        last = None if coming else next(reversed(self._entries))
        needed = {key: entry for key, entry in self._entries.items() if key == last or entry.users}
        bound = max(self.bound, _together([*needed.values(), *coming]) + LEFT * self.bound)
        for key in [key for key in self._entries if key not in needed]:
            if _together([*self._entries.values(), *coming]) <= bound:
                return
            del self._entries[key]

    @contextmanager
    def _turn(self, key: Hashable) -> Iterator[None]:
        """One thread at a time for each key."""
        with self._lock:
            turn, waiting = self._turns.get(key, (threading.RLock(), 0))
            self._turns[key] = turn, waiting + 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, waiting = self._turns.pop(key)
                if waiting > 1:
                    self._turns[key] = turn, waiting - 1


def _together(entries: Iterable[_Entry]) -> int:
    """Bytes of all entries; what they share counts once."""
    entries = list(entries)
    sizes = {address: size for entry in entries for address, size in entry.storages.items()}
    return sum(sizes.values()) + ENTRY * len(entries)


def bound_from_environment() -> float:
    """Bytes. Raises `InvalidInput` where the variable is not a positive number."""
    text = os.environ.get(VARIABLE, "").strip()
    try:
        gigabytes = float(text) if text else DEFAULT
    except ValueError:
        gigabytes = 0.0
    if not 0 < gigabytes < float("inf"):
        raise InvalidInput(f"{VARIABLE} is `{text}`; give a positive number of GB, such as 1.5, or leave it out.")
    return gigabytes * 1e9
