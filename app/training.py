"""Factual models, trained one at a time in the background and shared by all sessions of the server."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from engine.basics.errors import Cancelled, WhichfluenceError
from engine.problems import DrawnProblem, ProblemSource

KEPT = 6
UNWANTED_AFTER = 20.0  # seconds without anybody asking, after which a training that waits its turn is dropped
RETRY_AFTER = 10.0  # seconds before a failed training is tried again


class TrainingFailed(WhichfluenceError):
    """A training ended with an error nobody foresaw."""


@dataclass
class _Entry:
    source: ProblemSource
    wanted: float = field(default_factory=time.monotonic)
    finished: float | None = None
    future: Future = field(default_factory=Future)


class Trainer:
    """The most recently wanted problems, drawn and trained by `prepare`, one after the other.

    `afterwards` may go on with a problem that is ready, while no other training waits.
    """

    def __init__(self, prepare: Callable[[ProblemSource], DrawnProblem], kept: int = KEPT,
                 afterwards: Callable[[DrawnProblem], None] = lambda problem: None) -> None:
        self._prepare, self._kept, self._afterwards = prepare, kept, afterwards
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="training")

    def ask(self, source: ProblemSource) -> Future:
        """The training of `source`, started if it is new. Ask again while you wait, or it may be dropped."""
        key = source.model_dump_json()
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or _to_be_repeated(entry):
                entry = self._entries[key] = _Entry(source)
                self._pool.submit(self._run, key, entry)
            entry.wanted = time.monotonic()
            self._entries.move_to_end(key)
            self._forget()
            return entry.future

    def ahead(self, source: ProblemSource) -> int:
        """How many trainings come before that of `source`."""
        key = source.model_dump_json()
        with self._lock:
            waiting = [name for name, entry in self._entries.items() if not entry.future.done()]
            waiting.sort(key=lambda name: not self._entries[name].future.running())
        return waiting.index(key) if key in waiting else 0

    def _forget(self) -> None:
        done = [key for key, entry in self._entries.items() if entry.future.done()]
        for key in done[:max(0, len(self._entries) - self._kept)]:
            del self._entries[key]

    def _run(self, key: str, entry: _Entry) -> None:
        with self._lock:
            if time.monotonic() - entry.wanted > UNWANTED_AFTER:
                self._entries.pop(key, None)
                entry.future.set_exception(Cancelled("Nobody waited for this training any more; ask again."))
                return
            entry.future.set_running_or_notify_cancel()
        try:
            entry.future.set_result(self._prepare(entry.source))
        except WhichfluenceError as error:
            entry.future.set_exception(error)
        except Exception as error:
            said = " ".join(str(error).split())[:200]
            entry.future.set_exception(TrainingFailed(
                f"The model could not be trained ({type(error).__name__}{': ' if said else ''}{said}); "
                "choose fewer training examples or another dataset."))
        finally:
            entry.finished = time.monotonic()
        if entry.future.exception() is None and not self._waiting():
            with suppress(WhichfluenceError):  # whoever needs it next meets the error
                self._afterwards(entry.future.result())

    def _waiting(self) -> bool:
        with self._lock:
            return any(not entry.future.done() for entry in self._entries.values())


def _to_be_repeated(entry: _Entry) -> bool:
    return (entry.finished is not None and entry.future.exception() is not None
            and time.monotonic() - entry.finished > RETRY_AFTER)
