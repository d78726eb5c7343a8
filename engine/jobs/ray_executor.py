"""Chunks as tasks of a Ray cluster, in place of the local process.

Every node has this program and its libraries in the same versions, and sees the home folder under the same path: chunks
go into the store there, as they do on one machine. What is sent is the work as a value and the chunk's key.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

from engine.basics import plugins
from engine.basics.errors import InvalidInput, StoreError
from engine.basics.folders import at_home
from engine.jobs.executor import ChunkWork, Ledger

PAUSE = 0.5  # seconds between looks at what is done and at requests to stop
LEAVE = 10.0  # seconds that tasks get to end after a request to stop


@dataclass(frozen=True)
class RayExecutor:
    """Computes chunks wherever the cluster has room; those of a lost node are computed anew on another.

    address: of the cluster (default: the one that RAY_ADDRESS names, else one on this machine alone). cores, gpus: what
    a chunk takes of a node, parts of a GPU too. retries: how often a chunk is tried again after its node was lost.
    """

    address: str | None = None
    cores: float = 1.0
    gpus: float = 0.0
    retries: int = 3

    def run(self, keys: Sequence[str], work: ChunkWork, ledger: Ledger) -> Iterator[tuple[str, float]]:
        """Yield (key, seconds) after a chunk was stored, in the order in which they are done.

        The seconds are those that passed since the last one, so that they add up to what the job took. Raises what the
        chunk or the watch raises, and `StoreError` for a chunk whose nodes were lost again and again.
        """
        if not keys:
            return
        ray = connected(self.address)
        task = ray.remote(_compute).options(num_cpus=self.cores, num_gpus=self.gpus, max_retries=self.retries,
                                            scheduling_strategy="SPREAD", name=work.kind.name)
        held = ray.put(work)  # once for all tasks
        pending, last = {task.remote(held, key): key for key in keys}, time.perf_counter()
        try:
            while pending:
                done, _ = ray.wait(list(pending), timeout=PAUSE)
                for reference in done:
                    key = pending.pop(reference)
                    _settle(ray, reference, key)
                    now = time.perf_counter()
                    seconds, last = now - last, now
                    yield key, seconds
                ledger.watch.check()
        finally:
            _stop(ray, list(pending))


def connected(address: str | None = None) -> ModuleType:
    """The library, connected to the cluster. Raises `InvalidInput` where it is not installed or no cluster answers."""
    try:
        import ray
    except ImportError:
        raise InvalidInput("Ray is not installed; `pip install -r requirements-cluster.txt`, or take the local "
                           "executor.") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())[:200]
            raise InvalidInput(f"No Ray cluster answers at `{address or 'this machine'}` ({said}); start its head node "
                               "with `ray start`, and give its address.") from error
    return ray


def _compute(work: ChunkWork, key: str) -> None:
    """On a node. One that another attempt has stored by now is not computed again."""
    plugins.load()
    if work.stored_seconds(key) is None:
        with at_home(work.root):
            work(key)


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
