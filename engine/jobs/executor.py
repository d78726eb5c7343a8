"""Where chunks are computed: in this process, or wherever another `Executor` takes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from engine.basics import resident
from engine.basics.errors import StoreError
from engine.basics.noted import manifest_part, noting
from engine.jobs.kinds import Context, JobKind, Output, Progress, Watch, job_digest
from engine.store.results import Store, digest_of

Tell = Callable[[float, str], None]
"""Called with the fraction of a chunk that is done, and what it is at."""


def unheard(fraction: float, message: str) -> None:
    """Nobody listens."""


def with_nothing(context: Context) -> None:
    """Begin a chunk with what its process has."""


@dataclass(frozen=True)
class ChunkWork:
    """Computes and stores one chunk: a self-contained value that an executor may send to another process."""

    kind: JobKind
    payload: Mapping[str, Any]
    root: Path
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def job(self) -> str:
        """The digest of the job."""
        return job_digest(self.kind.name, self.payload)

    @property
    def chunks(self) -> Store:
        """Where the chunks of this job lie until its result is stored."""
        return Store(self.root, f"chunks/{self.job}")

    def name(self, key: str) -> str:
        """The digest under which a chunk is stored; any text can be a key."""
        return digest_of({"job": self.job, "chunk": key})

    def context(self, tell: Tell = unheard, check: Callable[[], None] = lambda: None) -> Context:
        """The surroundings of a chunk."""
        return Context(Store(self.root), self.options, check, tell)

    def stored_seconds(self, key: str) -> float | None:
        """How long chunk `key` took, if it is stored and verifies; None otherwise."""
        if not self.chunks.has(self.name(key)):
            return None
        try:
            return float(self.chunks.read(self.name(key)).manifest["seconds"])
        except StoreError:
            return None  # set aside by now

    def __call__(self, key: str, tell: Tell = unheard, check: Callable[[], None] = lambda: None,
                 begin: Callable[[Context], None] = with_nothing) -> float:
        """Compute chunk `key` and store it; return the seconds that it took. It tells how far it is, and may be asked
        to stop by what `check` raises. begin: called first, with the chunk's surroundings."""
        started, context = time.perf_counter(), self.context(tell, check)
        with noting() as told:
            begin(context)
            output = Output.of(self.kind.run_chunk(self.payload, key, context))
        seconds = time.perf_counter() - started
        facts = {**manifest_part(told), **resident.manifest_part(resident.peak_resident()), **output.manifest,
                 "kind": self.kind.name, "payload": self.payload, "chunk": key, "seconds": seconds}
        self.chunks.write(self.name(key), facts, output.tables, output.arrays)
        return seconds


class Ledger:
    """Keeps the account of a job's chunks and tells a `Watch` how far it is and how long it will take."""

    def __init__(self, weights: Mapping[str, float], watch: Watch) -> None:
        self.weights, self.watch = dict(weights), watch
        self._seconds: dict[str, float] = {}
        self._within: dict[str, float] = {}  # key: fraction done
        self._since = 0.0  # when the last chunk was finished, or the first one began

    def recall(self, key: str, seconds: float) -> None:
        """Chunk `key` was stored by an earlier attempt and took `seconds`; nothing is reported."""
        self._seconds[key] = seconds

    def begin(self, key: str) -> None:
        """Chunk `key` is being computed from now on."""
        if not self._within:
            self._since = time.monotonic()
        self._within[key] = 0.0
        self._report(key)

    def tell(self, key: str, fraction: float, message: str = "") -> None:
        """`fraction` of chunk `key` is done."""
        if key in self._within:
            self._within[key] = fraction
        self._report(message or key)

    def finish(self, key: str, seconds: float, message: str = "") -> None:
        """Chunk `key` is stored and took `seconds`."""
        self._within.pop(key, None)
        self._seconds[key] = seconds
        self._since = time.monotonic()
        self._report(message or key)

    @property
    def spent(self) -> float:
        """Seconds that the finished chunks took, those of earlier attempts included."""
        return sum(self._seconds.values())

    def _report(self, message: str) -> None:
        total = sum(self.weights.values())
        finished = sum(self.weights[key] for key in self._seconds)
        begun = sum(self.weights[key] * fraction for key, fraction in self._within.items())
        spent = self.spent + (time.monotonic() - self._since if any(self._within.values()) else 0.0)
        self.watch.report(Progress(
            done=len(self._seconds), total=len(self.weights), message=message,
            share=(finished + begun) / total if total else 1.0,
            seconds_left=time_left(spent, finished + begun, total)))


def time_left(spent: float, finished: float, total: float) -> float | None:
    """Seconds that the rest of `total` work takes at the pace of `finished` work in `spent` seconds; None if unknown.

    >>> time_left(10.0, 2.0, 8.0)
    30.0
    """
    return spent / finished * (total - finished) if finished > 0 else None


class Executor(Protocol):
    """Computes chunks. A cluster engine implements this one method: send `work(key)` away, yield its seconds."""

    def run(self, keys: Sequence[str], work: ChunkWork, ledger: Ledger) -> Iterator[tuple[str, float]]:
        """Yield (key, seconds) after a chunk was stored, in any order; stop cleanly when closed."""
        ...


class LocalExecutor:
    """One chunk after the other, in this thread."""

    def run(self, keys: Sequence[str], work: ChunkWork, ledger: Ledger) -> Iterator[tuple[str, float]]:
        """Yield (key, seconds) after each chunk was stored."""
        for key in keys:
            ledger.begin(key)
            yield key, work(key, partial(ledger.tell, key), ledger.watch.check)
