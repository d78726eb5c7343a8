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
from engine.jobs.kinds import Context, JobKind, Output, Progress, Report, Watch, job_digest, unheard
from engine.store.results import Store, digest_of


def with_nothing(context: Context) -> None:
    """Begin a chunk with what its process has."""


STORED_FRACTION = "found_fraction"
"""What a manifest calls the part of the work that lay there, whose time it does not tell."""
ROUNDING = 1e-6


def stored_part(fraction: float) -> dict[str, float]:
    """`{"found_fraction": …}` for a manifest; empty where nothing lay there."""
    return {STORED_FRACTION: round(fraction, 6)} if fraction > ROUNDING else {}


@dataclass(frozen=True)
class Took:
    """How long a chunk took, and which fraction of its work lay there before."""

    seconds: float
    stored: float = 0.0


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

    def context(self, report: Report = unheard, check: Callable[[], None] = lambda: None) -> Context:
        """The surroundings of a chunk."""
        return Context(Store(self.root), self.options, check, report)

    def stored(self, key: str) -> Took | None:
        """How long chunk `key` took, if it is stored and verifies; None otherwise."""
        if not self.chunks.has(self.name(key)):
            return None
        try:
            manifest = self.chunks.read(self.name(key)).manifest
        except StoreError:
            return None  # set aside by now
        return Took(float(manifest["seconds"]), float(manifest.get(STORED_FRACTION, 0.0)))

    def on_disk(self, key: str) -> float:
        """The fraction of chunk `key` that another job has left on this machine."""
        return self.kind.on_disk(self.payload, key, self.context()) if self.kind.on_disk else 0.0

    def __call__(self, key: str, report: Report = unheard, check: Callable[[], None] = lambda: None,
                 begin: Callable[[Context], None] = with_nothing) -> Took:
        """Compute chunk `key` and store it, unless another process stored it meanwhile; return how long it took. It
        tells how far it is, and may be asked to stop by what `check` raises. begin: called first, with the chunk's
        surroundings."""
        if stored := self.stored(key):
            return stored
        started, context = time.perf_counter(), self.context(report, check)
        with noting() as notes:
            begin(context)
            output = Output.of(self.kind.run_chunk(self.payload, key, context))
        seconds = time.perf_counter() - started
        facts = {**manifest_part(notes), **resident.manifest_part(resident.peak_resident()), **output.manifest,
                 "kind": self.kind.name, "payload": self.payload, "chunk": key, "seconds": seconds,
                 **stored_part(context.stored)}
        self.chunks.write(self.name(key), facts, output.tables, output.arrays)
        return Took(seconds, context.stored)


class Ledger:
    """Keeps the account of a job's chunks and tells a `Watch` how far it is and how long it will take."""

    def __init__(self, weights: Mapping[str, float], watch: Watch) -> None:
        self.weights, self.watch = dict(weights), watch
        self._took: dict[str, Took] = {}
        self._within: dict[str, float] = {}  # key: fraction done
        self._stored: dict[str, float] = {}  # key: of that, the fraction that lay there
        self._on_disk: dict[str, float] = {}  # key: the fraction that will be found, where it has not begun
        self._since = 0.0  # when the last chunk was finished, or the first one began

    def recall(self, key: str, took: Took) -> None:
        """Chunk `key` was stored by an earlier attempt; nothing is reported."""
        self._took[key] = took

    def expect(self, key: str, stored: float) -> None:
        """The fraction `stored` of chunk `key` will be found when it begins; nothing is reported."""
        self._on_disk[key] = stored

    def begin(self, key: str) -> None:
        """Chunk `key` is being computed from now on."""
        if not self._within:
            self._since = time.monotonic()
        self._within[key] = self._stored[key] = 0.0
        self._report(key)

    def update(self, key: str, fraction: float, message: str = "", stored: float = 0.0) -> None:
        """`fraction` of chunk `key` is done, of which `stored` lay there."""
        if key in self._within:
            self._within[key], self._stored[key] = fraction, stored
        self._report(message or key)

    def finish(self, key: str, took: Took, message: str = "") -> None:
        """Chunk `key` is stored."""
        self._within.pop(key, None)
        self._took[key] = took
        self._since = time.monotonic()
        self._report(message or key)

    @property
    def spent(self) -> float:
        """Seconds that the finished chunks took, those of earlier attempts included."""
        return sum(took.seconds for took in self._took.values())

    @property
    def stored(self) -> float:
        """The fraction of the finished chunks' work that lay there, of those of earlier attempts too."""
        work = sum(self.weights[key] for key in self._took)
        return sum(self.weights[key] * took.stored for key, took in self._took.items()) / work if work else 0.0

    def _report(self, message: str) -> None:
        total = sum(self.weights.values())
        done = (sum(self.weights[key] for key in self._took)
                + sum(self.weights[key] * fraction for key, fraction in self._within.items()))
        (spent, computed), left = self._paced(), max(0.0, total - done - self._to_load())
        seconds, interval = time_left(spent, computed, left), None
        if self.watch.estimate is not None and total and left:
            estimate = self.watch.estimate.of_fraction((computed + left) / total).left(
                spent, computed / (computed + left))
            seconds, interval = estimate.seconds, (estimate.low, estimate.high)
        self.watch.report(Progress(
            done=len(self._took), total=len(self.weights), message=message, share=done / total if total else 1.0,
            seconds_left=seconds, interval=interval, computed=computed / total if total else 0.0))

    def _to_load(self) -> float:
        """The work that chunks will find when they begin."""
        return sum(self.weights[key] * max(0.0, stored - self._within.get(key, 0.0))
                   for key, stored in self._on_disk.items() if key not in self._took)

    def _paced(self) -> tuple[float, float]:
        """(seconds, work) of what was computed, without what lay there."""
        finished = {key: _computed(1.0, took.stored) for key, took in self._took.items()}
        begun = {key: _computed(fraction, self._stored[key]) for key, fraction in self._within.items()}
        seconds = sum(self._took[key].seconds for key, part in finished.items() if part)
        return (seconds + (time.monotonic() - self._since if any(begun.values()) else 0.0),
                sum(self.weights[key] * part for key, part in [*finished.items(), *begun.items()]))


def _computed(fraction: float, stored: float) -> float:
    """What of a fraction did not lie there, but for the rounding of the two."""
    return fraction - stored if fraction - stored > ROUNDING else 0.0


def time_left(spent: float, finished: float, left: float) -> float | None:
    """Seconds that the work `left` takes at the pace of `finished` work in `spent` seconds; None if unknown.

    >>> time_left(10.0, 2.0, 6.0)
    30.0
    """
    if left <= 0:
        return 0.0
    return spent / finished * left if finished > 0 else None


class Executor(Protocol):
    """Computes chunks. A cluster engine implements this one method: send `work(key)` away, yield how long it took."""

    def run(self, keys: Sequence[str], work: ChunkWork, ledger: Ledger) -> Iterator[tuple[str, Took]]:
        """Yield (key, how long it took) after a chunk was stored, in any order; stop cleanly when closed."""
        ...


class LocalExecutor:
    """One chunk after the other, in this thread."""

    def run(self, keys: Sequence[str], work: ChunkWork, ledger: Ledger) -> Iterator[tuple[str, Took]]:
        """Yield (key, how long it took) after each chunk was stored."""
        for key in keys:
            ledger.begin(key)
            yield key, work(key, partial(ledger.update, key), ledger.watch.check)
