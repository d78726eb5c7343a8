"""Chunks as tasks of a Ray cluster, in place of the local process.

Every node has this program and its libraries in the same versions, and sees the home folder under the same path: chunks
go into the store there, as they do on one machine. What is sent is the work as a value and the chunk's key.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from engine.basics import plugins
from engine.basics.errors import InvalidInput, StoreError
from engine.basics.folders import at_home
from engine.jobs.cluster import Sighting
from engine.jobs.executor import ChunkWork, Ledger
from engine.jobs.ray_cluster import Entry, RayCluster, Teller, connected, share_of_gpu, surroundings

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

    def run(self, keys: Sequence[str], work: ChunkWork, ledger: Ledger) -> Iterator[tuple[str, float]]:
        """Yield (key, seconds) after a chunk was stored, in the order in which they are done.

        The seconds are those that passed since the last one, so that they add up to what the job took. Raises what the
        chunk or the watch raises, and `StoreError` for a chunk whose nodes were lost again and again.
        """
        if not keys:
            return
        cluster = RayCluster(connected(self.address))
        ray, sighting = cluster.ray, Sighting(work.root)
        needs = _Needs(cluster, self, work)
        task = ray.remote(_compute)
        held = ray.put(needs.work)  # once for all tasks
        variables = surroundings()
        pending = {task.options(num_cpus=self.cores, max_retries=self.retries, scheduling_strategy="SPREAD",
                                name=work.kind.name, **needs.of(key)).remote(held, key, variables, cluster.board): key
                   for key in keys}
        last, told = time.perf_counter(), _Told(cluster, sighting, work.job, ledger)
        try:
            while pending:
                done, _ = ray.wait(list(pending), timeout=PAUSE)
                for reference in done:
                    key = pending.pop(reference)
                    _settle(ray, reference, key)
                    now = time.perf_counter()
                    seconds, last = now - last, now
                    yield key, seconds
                told.look(list(pending.values()))
                ledger.watch.check()
        finally:
            _stop(ray, list(pending))
            sighting.remove()
            cluster.close()


class _Needs:
    """What the chunks of one job take of a node."""

    def __init__(self, cluster: RayCluster, executor: RayExecutor, work: ChunkWork) -> None:
        nodes = cluster.nodes(work.job)
        gpus = sum(node.gpus for node in nodes)
        if executor.gpus and not gpus:
            raise InvalidInput("No node of the Ray cluster has a GPU; start a node that offers one, or compute on "
                               "processors with 0 GPUs a chunk.")
        self.kind, self.payload, self.gpus = work.kind, work.payload, executor.gpus
        self.most = max((node.memory for node in nodes), default=0)
        wanted = gpus if executor.gpus is None else executor.gpus
        self.whole = cluster.gpu_memory() if wanted and executor.gpus is None else 0
        self.on_gpus = bool(wanted) and work.options.get("device") != "cpu"
        self.work = work if self.on_gpus else replace(work, options={**work.options, "device": "cpu"})

    def of(self, key: str) -> dict[str, Any]:
        """The options of a chunk's task."""
        memory = self.kind.memory(self.payload, key) if self.kind.memory else 0
        share = self.gpus if self.gpus is not None else share_of_gpu(memory, self.whole)
        return {"memory": min(memory, self.most) or None, "num_gpus": share if self.on_gpus else 0}


class _Told:
    """Carries what chunks say of themselves to the ledger, and where they run to the pages."""

    def __init__(self, cluster: RayCluster, sighting: Sighting, job: str, ledger: Ledger) -> None:
        self.cluster, self.sighting, self.job, self.ledger = cluster, sighting, job, ledger
        self._before: dict[str, Entry] = {}
        self._seen = -SEEN

    def look(self, pending: Sequence[str]) -> None:
        """Ask the board."""
        entries = {entry.key: entry for entry in self.cluster.entries(pending)}
        for key, entry in entries.items():
            before = self._before.get(key)
            if before is None or before.node != entry.node:
                self.ledger.begin(key)
            if entry != before:
                self.ledger.tell(key, entry.share, entry.message)
        self._before = entries
        if time.monotonic() - self._seen >= SEEN:
            self._seen = time.monotonic()
            self.sighting.write(self.cluster.nodes(self.job, entries.values()))


def _compute(work: ChunkWork, key: str, variables: Mapping[str, str], board: Any) -> None:
    """On a node. One that another attempt has stored by now is not computed again."""
    import ray

    os.environ.update(variables)
    plugins.load()
    teller = Teller(board, key, ray.get_runtime_context().get_node_id())
    if work.stored_seconds(key) is None:
        with at_home(work.root):
            work(key, teller.tell)


def _settle(ray: ModuleType, reference: object, key: str) -> None:
    try:
        ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise StoreError(f"The chunk `{key}` could not be computed on any node ({type(error).__name__}); look at the "
                         "memory and the log of the nodes, then resume the run.") from error


def _stop(ray: ModuleType, references: list) -> None:
    """Asks tasks to end, and waits a while: what they had stored is kept, and nothing is half written."""
    for reference in references:
        ray.cancel(reference, force=True)
    if references:
        ray.wait(references, num_returns=len(references), timeout=LEAVE)
