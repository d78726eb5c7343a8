"""Kinds of job: how a payload falls into chunks, how one chunk is computed, and how chunks become a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.registry import Registry
from engine.basics.values import canonical_json
from engine.jobs.estimate import JobWork, TimeEstimate
from engine.store.results import Result, Store, digest_of
from engine.store.sketch import Bars, Sketch

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import torch


@dataclass(frozen=True)
class Output:
    """What a chunk or a finished job yields: tables, arrays, and facts for its manifest."""

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray | torch.Tensor] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def stating(self, facts: Mapping[str, Any]) -> Output:
        """The same with these facts in its manifest."""
        return replace(self, manifest={**self.manifest, **facts})

    @classmethod
    def of(cls, value: Output | Mapping[str, Any]) -> Output:
        """An `Output` as it is, or a mapping of names to tables and arrays, sorted by type."""
        if isinstance(value, Output):
            return value
        if not isinstance(value, Mapping):
            raise InvalidInput(f"A chunk returned {type(value).__name__}; let it return an Output or a mapping.")
        tables = {name: item for name, item in value.items() if hasattr(item, "to_parquet")}
        return cls(tables, {name: item for name, item in value.items() if name not in tables})


@dataclass(frozen=True)
class Progress:
    """How far a job is: chunks `done` of `total`, `share` of its work in [0, 1], and seconds left if known, with the
    ends of their 90% interval. computed: the fraction of its work that was computed and did not lie there."""

    done: int
    total: int
    share: float
    seconds_left: float | None
    message: str = ""
    interval: tuple[float, float] | None = None
    computed: float = 0.0


class Watch:
    """Whoever looks on while a job runs; this one is silent. Subclass to show progress or to stop the job.

    estimate: how long all of it takes, as far as that is known before it starts.
    """

    estimate: TimeEstimate | None = None

    def report(self, progress: Progress) -> None:
        """Called after each chunk, and as often as a chunk tells how far it is."""

    def check(self) -> None:
        """Raise `Cancelled` to stop the job at once; may be called very often."""

    def between_chunks(self) -> None:
        """Raise to stop the job where nothing is lost."""
        self.check()


Report = Callable[[float, str, float], None]
"""Called with the fraction of a chunk that is done, what it is at, and the fraction that lay there before it began."""


def unheard(fraction: float, message: str, stored: float = 0.0) -> None:
    """Nobody listens."""


class Context:
    """What a chunk may ask of its surroundings.

    `store` holds earlier results. `options` are what may change how fast the work is done (device, memory
    budget) but never what comes out: they are not part of the job's digest.
    """

    def __init__(self, store: Store, options: Mapping[str, Any] | None = None,
                 check: Callable[[], None] = lambda: None,
                 report: Report = unheard) -> None:
        self.store = store
        self.options = dict(options or {})
        self._check, self._report = check, report
        self._done = 0.0
        self.stored = 0.0  # the fraction of this chunk that had been computed before

    def check(self) -> None:
        """Raise `Cancelled` if the job was asked to stop; call it within a long chunk as often as you like."""
        self._check()

    @property
    def device(self) -> str:
        """Where to compute."""
        return str(self.options.get("device", "cpu"))

    def computing(self, message: str, start: float = 0.0) -> Options:
        """How to compute what is left of this chunk from the fraction `start` on: budget, check and progress."""
        return Options(budget=int(self.options.get("budget", Options.budget)), check=self.check,
                       progress=lambda done: self.progress(start + (1.0 - start) * done, message))

    def progress(self, fraction: float, message: str = "") -> None:
        """Say that `fraction` in [0, 1] of this chunk is done, and `check`."""
        self._check()
        self._done = min(max(float(fraction), 0.0), 1.0)
        self._report(self._done, message, self.stored)

    def progress_stored(self, fraction: float, message: str = "") -> None:
        """As `progress`, where what was added since the last word lay there, computed by another run or by an attempt
        that was stopped: it is done, and says nothing of how long the rest takes."""
        self.stored += max(min(float(fraction), 1.0) - self._done, 0.0)
        self.progress(fraction, message)

    def part(self, message: str = "", start: float = 0.0, end: float = 1.0) -> Callable[..., None]:
        """To call with the share of a part that is done, and what it is at where that is not `message`: the part is
        this chunk from the fraction `start` to `end`. What is told first lay there, as `found` has it."""
        report = self.progress_stored

        def progress(done: float, said: str = message) -> None:
            nonlocal report
            report(start + (end - start) * done, said)
            report = self.progress

        return progress


def of_table(result: Result) -> Sketch | None:
    """The column `mean` of the first table that has one, as far as it is of the first metric."""
    for name in result.tables:
        table = result.table(name)
        if "mean" in table and len(table):
            rows = table[table["metric"] == table["metric"].iloc[0]] if "metric" in table else table
            return Bars.of(rows["mean"], f"The first values of the table {name.replace('_', ' ')}")
    return None


Handed = Mapping[str, Any]
"""What one chunk's process hands to that of another: values by name, which can be pickled."""


@dataclass(frozen=True)
class Shares:
    """What several chunks of a job begin with, so that a cluster makes it once and hands it to all of them.

    Where chunks follow each other in one process, it is what that process remembers, and nothing is handed over. The
    chunks must come out the same with and without it.

    names(payload, key) -> what chunk `key` begins with; each is made by a process that has taken those before it.
    make(payload, name, taken, context) -> what is handed over of one of them. taken: what was taken before.
    take(payload, handed, context) makes known to this process what another has made.
    """

    names: Callable[[Mapping[str, Any], str], Sequence[str]]
    make: Callable[[Mapping[str, Any], str, Handed, Context], Handed]
    take: Callable[[Mapping[str, Any], Handed, Context], None]


@dataclass(frozen=True)
class JobKind:
    """A kind of job, by pure functions of its payload (plain data).

    plan(payload) -> chunk keys, distinct, in the order in which they should be computed.
    run_chunk(payload, key, context) -> Output, or a mapping of names to tables and arrays. It must depend on
        payload and key alone: it may be repeated after a crash.
    finish(payload, chunks, context) -> the Output to store; `chunks[key]` is the verified `Result` of a chunk.
        Put spec, data fingerprint, seeds, device, convergence and command into its manifest; kind, payload,
        versions and wall seconds are added.
    sketch(result) -> what a small picture of the finished result is drawn from, or None.
    weight(payload, key) -> relative duration of a chunk, for the time that is left (default: all alike).
    seconds(payload) -> how long all of it takes on two idle cores once it has started, roughly: the unit in which the
        pace of a machine is measured (default: the sum of the weights).
    involves(payload) -> what is computed on what, from general to specific: jobs that agree in it take alike.
    on_disk(payload, key, context) -> the fraction of a chunk's work that another job has left on this machine, for the
        time that is left before the chunk begins and tells it (default: none).
    memory(payload, key) -> bytes that a process holds while it computes a chunk, roughly: what a cluster reserves for
        it (default: not known, nothing is reserved).
    shares: what chunks have in common (default: nothing).
    after(payload, key) -> the chunks that have to be stored before this one, which stand before it in the plan
        (default: none; where chunks are computed one after the other, all that stand before it are).
    """

    name: str
    plan: Callable[[Mapping[str, Any]], list[str]]
    run_chunk: Callable[[Mapping[str, Any], str, Context], Output | Mapping[str, Any]]
    finish: Callable[[Mapping[str, Any], Mapping[str, Result], Context], Output | Mapping[str, Any]]
    weight: Callable[[Mapping[str, Any], str], float] | None = None
    memory: Callable[[Mapping[str, Any], str], int] | None = None
    shares: Shares | None = None
    after: Callable[[Mapping[str, Any], str], Sequence[str]] | None = None
    sketch: Callable[[Result], Sketch | None] = of_table
    on_disk: Callable[[Mapping[str, Any], str, Context], float] | None = None
    seconds: Callable[[Mapping[str, Any]], float] | None = None
    involves: Callable[[Mapping[str, Any]], tuple[str, ...]] = lambda payload: ()

    def weights(self, payload: Mapping[str, Any]) -> dict[str, float]:
        """Chunk -> its relative duration, in the order of the plan. Raises `InvalidInput` for a chunk that comes twice.
        """
        keys = list(self.plan(payload))
        weights = {key: float(self.weight(payload, key)) if self.weight else 1.0 for key in keys}
        if len(weights) != len(keys):
            raise InvalidInput(f"Job kind `{self.name}` plans a chunk twice; give every chunk its own key.")
        return weights

    def work(self, payload: Mapping[str, Any]) -> JobWork:
        """What the job is, for its duration."""
        seconds = sum(self.weights(payload).values()) if self.seconds is None else self.seconds(payload)
        return JobWork(self.name, seconds, self.involves(payload))


KINDS: Registry[JobKind] = Registry("job kind")


def canonical(payload: Mapping[str, Any]) -> str:
    """The payload as canonical JSON; `InvalidInput` if JSON cannot hold it."""
    try:
        return canonical_json(payload)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"JSON cannot represent the job's payload ({error}); use plain numbers, text, lists and "
                           "mappings.") from None


def job_digest(kind: str, payload: Mapping[str, Any]) -> str:
    """The digest that is the job's id and its result's folder: the same question has the same digest."""
    return digest_of({"kind": kind, "payload": payload})
