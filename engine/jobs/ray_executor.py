"""Chunks as tasks of a Ray cluster, in place of the local process.

Every node has this program and its libraries in the same versions, and sees the home folder under the same path: chunks
go into the store there, as they do on one machine. What is sent is the work as a value and the chunk's key, and what
several chunks begin with by reference: a task of its own makes it, Ray's object store keeps it once a node, and where
all copies are lost with their nodes Ray has it made again.

A machine that loses its network and goes on running closes no connection: Ray gives it up, and still waits for the
chunks that it sent or was about to send there. They are asked for anew, of other nodes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from engine.basics.errors import InvalidInput, StoreError
from engine.jobs.cluster import Sighting
from engine.jobs.executor import ChunkWork, Ledger, Took
from engine.jobs.ray_cluster import (
    RayCluster,
    RunningChunk,
    board_of,
    connected,
    share_of_gpu,
    surroundings,
)
from engine.jobs.ray_tasks import FOR_SEVERAL, compute, make

PAUSE = 0.5  # seconds between looks at what is done and at requests to stop
SEEN = 2.0  # seconds between looks at the nodes
LEAVE = 10.0  # seconds that tasks get to end after a request to stop


@dataclass(frozen=True)
class RayExecutor:
    """Computes chunks wherever the cluster has room; those of a lost node are computed anew on another.

    address: of the cluster (default: the one that RAY_ADDRESS names, else one on this machine alone). cores: what a
    chunk takes of a node. gpus: what it takes of a GPU; 0 computes on processors, None takes what it is expected to
    hold where the cluster has GPUs. retries: how often a chunk is tried again after its node was lost.

    A chunk reserves the memory that its kind expects of it, or all of the largest node where that is less.
    """

    address: str | None = None
    cores: float = 1.0
    gpus: float | None = None
    retries: int = 3

    @cached_property
    def connection(self) -> tuple[ModuleType, Any]:
        """The library and a board, for one job after another."""
        ray = connected(self.address)
        return ray, board_of(ray)

    def run(self, keys: Sequence[str], work: ChunkWork, ledger: Ledger) -> Iterator[tuple[str, Took]]:
        """Yield (key, how long it took) after a chunk was stored, in the order in which they are done.

        The seconds are those that passed since the last one, so that they add up to what the job took. Raises what the
        chunk or the watch raises, and `StoreError` for a chunk whose nodes were lost again and again.
        """
        if not keys:
            return
        cluster = RayCluster(*self.connection, work.job)
        ray, sighting = cluster.ray, Sighting(work.root)
        needs = _Needs(cluster, self, work)
        tasks = _Tasks(cluster, self, needs, common(work, keys))
        for key in keys:
            tasks.chunk(key)
        pending = {task: key for key, task in tasks.chunks.items()}
        last, reporter = time.perf_counter(), _Reporter(cluster, sighting, ledger)
        losses = _Losses(cluster, tasks)
        try:
            while pending:
                done, _ = ray.wait(list(pending), timeout=PAUSE)
                for reference in done:
                    key = pending.pop(reference)
                    took = _settle(ray, reference, key)
                    now = time.perf_counter()
                    seconds, last = now - last, now
                    yield key, replace(took, seconds=seconds)
                entries = reporter.look(list(pending.values()), list(tasks.shared))
                pending = losses.mended(pending, entries)
                ledger.watch.check()
        finally:
            _stop(ray, [*tasks.shared.values(), *pending] if pending else [])
            sighting.remove()
            cluster.close()


def common(work: ChunkWork, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Key -> what the chunk begins with, in order, as far as another one of `keys` begins with it too."""
    if work.kind.shares is None:
        return dict.fromkeys(keys, ())
    names = {key: tuple(work.kind.shares.names(work.payload, key)) for key in keys}
    times = Counter(name for own in names.values() for name in own)
    return {key: tuple(name for name in own if times[name] > 1) for key, own in names.items()}


class _Tasks:
    """The tasks of one job. chunks: theirs, by key. shared: those of what several chunks begin with, by name; begin:
    the names of what each chunk begins with."""

    def __init__(self, cluster: RayCluster, executor: RayExecutor, needs: _Needs,
                 begin: Mapping[str, tuple[str, ...]]) -> None:
        self.cluster, self.executor, self.needs, self.begin = cluster, executor, needs, begin
        self.held = cluster.ray.put(needs.work)  # once for all tasks
        self.variables = surroundings()
        self.chunks: dict[str, Any] = {}
        self.shared: dict[str, Any] = {}

    def chunk(self, key: str) -> None:
        """Ask for a chunk, and before it for what it begins with. The chunks that it comes after were asked for."""
        names = self.begin[key]
        for index, name in enumerate(names):
            if name not in self.shared:
                self.shared[name] = self._remote(make, key).remote(*self._arguments(name), *self._known(names[:index]))
        after = self.needs.kind.after(self.needs.payload, key) if self.needs.kind.after else ()
        waited = [self.chunks[other] for other in after if other in self.chunks]  # the others are stored
        self.chunks[key] = self._remote(compute, key).remote(*self._arguments(key), *self._known(names), *waited)

    def anew(self, pending: Mapping[Any, str], running: Collection[str]) -> dict[Any, str]:
        """Ask again for the chunks of `pending` but those of `running`, and for what they begin with where it is
        neither made nor running; the tasks that are waited for instead, in the same order."""
        ray = self.cluster.ray
        ready, _ = ray.wait(held, num_returns=len(held), timeout=0, fetch_local=False) if (
            held := list(self.shared.values())) else ([], [])
        for name, task in list(self.shared.items()):
            if task not in ready and FOR_SEVERAL + name not in running:
                ray.cancel(self.shared.pop(name), force=True)
        tasks = {}
        for task, key in pending.items():
            if key not in running:
                ray.cancel(task, force=True)
                self.chunk(key)
            tasks[self.chunks[key]] = key
        return tasks

    def _remote(self, task: Callable, key: str) -> Any:
        """With what chunk `key` takes of a node."""
        return self.cluster.ray.remote(task).options(
            num_cpus=self.executor.cores, max_retries=self.executor.retries, scheduling_strategy="SPREAD",
            name=self.needs.kind.name, **self.needs.of(key))

    def _arguments(self, name: str) -> tuple[Any, ...]:
        return self.held, name, self.variables, self.cluster.board

    def _known(self, names: Sequence[str]) -> list[Any]:
        return [self.shared[name] for name in names]


class _Losses:
    """Has chunks computed elsewhere once Ray says that a node is lost.

    Where its machine closed the connections, Ray does that itself. Where it did not, Ray waits for the connections to
    break, which takes minutes: for chunks that run there, and for requests that queue there.
    """

    def __init__(self, cluster: RayCluster, tasks: _Tasks) -> None:
        self.cluster, self.tasks = cluster, tasks
        self._known, self._times, self._seen = cluster.gone(), Counter[str](), time.monotonic()

    def mended(self, pending: dict[Any, str], entries: Mapping[str, RunningChunk]) -> dict[Any, str]:
        """The tasks to wait for, by what is told of those that were begun. Raises `StoreError` for a chunk whose nodes
        were lost again and again."""
        if time.monotonic() - self._seen < SEEN:
            return pending
        self._seen = time.monotonic()
        lost = self.cluster.gone() - self._known
        if not lost:
            return pending
        self._known |= lost
        self._times.update(key for key, entry in entries.items() if entry.node in lost)
        often = next((key for key in pending.values() if self._times[key] > self.tasks.executor.retries), None)
        if often is not None:
            raise _nowhere(often, "its nodes were lost")
        return self.tasks.anew(pending, {key for key, entry in entries.items() if entry.node not in self._known})


class _Needs:
    """What the chunks of one job take of a node."""

    def __init__(self, cluster: RayCluster, executor: RayExecutor, work: ChunkWork) -> None:
        nodes = cluster.nodes()
        gpus = sum(node.gpus for node in nodes)
        if executor.gpus and not gpus:
            raise InvalidInput("No node of the Ray cluster has a GPU; start a node with one, or "
                               "compute on CPUs with 0 GPUs per chunk.")
        largest = max((node.cores for node in nodes), default=0.0)
        if executor.cores > largest:
            raise InvalidInput(f"A chunk needs {executor.cores:g} cores, but no node of the Ray cluster has more "
                               f"than {largest:g}; start a larger node, or use fewer cores per chunk.")
        self.kind, self.payload, self.gpus = work.kind, work.payload, executor.gpus
        self.most = max((node.memory for node in nodes), default=0)
        wanted = gpus if executor.gpus is None else executor.gpus
        self.whole = cluster.gpu_memory() if wanted and executor.gpus is None else 0
        self.on_gpus = bool(wanted) and work.options.get("device") != "cpu"
        self.work = work if self.on_gpus else replace(work, options={**work.options, "device": "cpu"})

    def of(self, key: str) -> dict[str, Any]:
        """The options of a chunk's task."""
        memory = self.kind.memory(self.payload, key) if self.kind.memory else 0
        fraction = self.gpus if self.gpus is not None else share_of_gpu(memory, self.whole)
        return {"memory": min(memory, self.most) or None, "num_gpus": fraction if self.on_gpus else 0}


class _Reporter:
    """Carries what chunks say of themselves to the ledger, and where they run to the pages."""

    def __init__(self, cluster: RayCluster, sighting: Sighting, ledger: Ledger) -> None:
        self.cluster, self.sighting, self.ledger = cluster, sighting, ledger
        self._before: dict[str, RunningChunk] = {}
        self._seen = -SEEN

    def look(self, pending: Sequence[str], shared: Sequence[str]) -> dict[str, RunningChunk]:
        """Ask the board, and return what it says by key. shared: what is made before some of the pending chunks, which
        is no part of the progress."""
        for_several = [FOR_SEVERAL + name for name in shared]
        entries = {entry.key: entry for entry in self.cluster.entries([*pending, *for_several])}
        for key, entry in entries.items():
            before = self._before.get(key)
            if key in pending and (before is None or before.node != entry.node):
                self.ledger.begin(key)
            if entry != before:
                self.ledger.update(key, entry.share, entry.message, entry.stored)
        self._before = entries
        if time.monotonic() - self._seen >= SEEN:
            self._seen = time.monotonic()
            self.sighting.write(self.cluster.nodes(entries.values()))
        return entries


def _settle(ray: ModuleType, reference: object, key: str) -> Took:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise _nowhere(key, type(error).__name__) from error


def _nowhere(key: str, why: str) -> StoreError:
    return StoreError(f"The chunk `{key}` could not be computed on any node ({why}); check the memory and the log of "
                      "the nodes, then resume the run.")


def _stop(ray: ModuleType, references: list) -> None:
    """Asks tasks to end, and waits a while: what they had stored is kept, and nothing is half written."""
    for reference in references:
        ray.cancel(reference, force=True)
    if references:
        ray.wait(references, num_returns=len(references), timeout=LEAVE)
