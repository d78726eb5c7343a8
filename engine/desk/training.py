"""Factual models, trained one at a time in the background and shared by everybody in the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from engine.basics.errors import Cancelled, WhichfluenceError
from engine.basics.folders import carried
from engine.desk.memory import BoundedMemory
from engine.problems import ProblemSource, SampledProblem

UNWANTED_AFTER = 20.0  # seconds without anybody asking, after which a training that waits its turn is dropped
RETRY_AFTER = 10.0  # seconds before a failed training is tried again


class TrainingFailed(WhichfluenceError):
    """A training ended with an error nobody foresaw."""


@dataclass
class _Entry:
    """A training that waits, runs or has failed."""

    source: ProblemSource
    wanted: float = field(default_factory=time.monotonic)
    failed: float | None = None
    future: Future = field(default_factory=Future)


def problem_key(source: ProblemSource) -> Hashable:
    """Where `Trainings` caches the problem of a source in its memory."""
    return "problem", source.key


class Trainings:
    """Problems drawn and trained by `prepare`, one after the other, and cached in `memory`.

    `afterwards` may go on with a problem that is ready, while no other training waits, or when `follow` asks for it.
    """

    def __init__(self, prepare: Callable[[ProblemSource], SampledProblem], memory: BoundedMemory | None = None,
                 afterwards: Callable[[SampledProblem], None] = lambda problem: None) -> None:
        self._prepare, self._afterwards = prepare, afterwards
        self._memory = BoundedMemory() if memory is None else memory
        self._entries: dict[Hashable, _Entry] = {}
        self._following: dict[Hashable, Future] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="training")

    def ask(self, source: ProblemSource) -> Future:
        """The training of `source`, started if it is new. Ask again while you wait, or it may be dropped."""
        key = problem_key(source)
        with self._lock:
            self._forget()
            ready = self._memory.get(key)
            if ready is not None:
                return _done(ready)
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(source)
                self._pool.submit(carried(self._run), key, entry)
            entry.wanted = time.monotonic()
            return entry.future

    def follow(self, source: ProblemSource, problem: SampledProblem) -> Future:
        """What goes on with a problem that is ready, begun if it was not; it ends with the error that it met."""
        key = problem_key(source)
        with self._lock:
            future = self._following.get(key)
            if future is None:
                future = self._following[key] = Future()
                self._pool.submit(carried(self._go_on), key, problem, future)
            return future

    def ahead(self, source: ProblemSource) -> int:
        """How many trainings come before that of `source`."""
        key = problem_key(source)
        with self._lock:
            waiting = [name for name, entry in self._entries.items() if entry.failed is None]
            waiting.sort(key=lambda name: not self._entries[name].future.running())
        return waiting.index(key) if key in waiting else 0

    def _forget(self) -> None:
        """Failures are told for a while only, so that one may try again."""
        now = time.monotonic()
        for key, entry in list(self._entries.items()):
            if entry.failed is not None and now - entry.failed > RETRY_AFTER:
                del self._entries[key]

    def _run(self, key: Hashable, entry: _Entry) -> None:
        with self._lock:
            if time.monotonic() - entry.wanted > UNWANTED_AFTER:
                del self._entries[key]
                entry.future.set_exception(Cancelled("This training was abandoned because no page waited for it; "
                                                     "request it again."))
                return
            entry.future.set_running_or_notify_cancel()
        try:
            problem = self._prepare(entry.source)
        except Exception as error:
            self._fail(entry, error if isinstance(error, WhichfluenceError) else _unforeseen(error))
            return
        with self._lock:
            self._memory.put(key, problem)
            del self._entries[key]
            self._following.pop(key, None)
            alone = all(other.failed is not None for other in self._entries.values())
        entry.future.set_result(problem)
        if alone:
            self.follow(entry.source, problem)

    def _go_on(self, key: Hashable, problem: SampledProblem, future: Future) -> None:
        future.set_running_or_notify_cancel()
        try:
            with self._memory.using(key):
                self._afterwards(problem)
        except Exception as error:  # whoever needs it next meets the error, too
            future.set_exception(error)
        else:
            future.set_result(None)

    def _fail(self, entry: _Entry, error: WhichfluenceError) -> None:
        with self._lock:
            entry.failed = time.monotonic()
        entry.future.set_exception(error)


def _done(problem: SampledProblem) -> Future:
    future: Future = Future()
    future.set_result(problem)
    return future


def _unforeseen(error: Exception) -> TrainingFailed:
    said = " ".join(str(error).split())[:200]
    return TrainingFailed(f"The model could not be trained ({type(error).__name__}{': ' if said else ''}{said}); "
                          "choose fewer training examples or another dataset.")
