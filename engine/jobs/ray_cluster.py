"""A Ray cluster as chunks see it: how it is found, what its nodes offer, and how far each chunk on it is."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from engine.basics.environment import DEFAULTS
from engine.basics.errors import InvalidInput
from engine.jobs.cluster import Node, Running

OFTEN = 0.5  # seconds between two words of one chunk
PATIENCE = 5.0  # seconds that a question to the cluster may take
LEAST_SHARE = 0.05  # of a GPU
HEADROOM = 1.25
"""How much more of a GPU a chunk is given than it is expected to hold, for fragments and the library itself."""


def connected(address: str | None = None) -> ModuleType:
    """The library, connected to the cluster. Raises `InvalidInput` where it is not installed or no cluster answers."""
    try:
        import ray
    except ImportError:
        raise InvalidInput("Ray is not installed; `pip install -r requirements-cluster.txt`, or use the local "
                           "executor.") from None
    if not ray.is_initialized():
        _knock(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())[:200]
            raise InvalidInput(f"The Ray cluster at `{address or 'this machine'}` refuses access ({said}). "
                               "If its nodes require a token, set RAY_AUTH_MODE=token here too; otherwise check its "
                               "log.") from error
    return ray


def _knock(address: str | None) -> None:
    """Raises `InvalidInput` where nobody answers at HOST:PORT, which the library would try for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"No Ray cluster answers at `{address}` ({error}); start its head node with `ray start`, "
                           "and give its address.") from None


@dataclass(frozen=True)
class RunningChunk:
    """One chunk under way. node: the id of its node."""

    key: str
    node: str
    share: float = 0.0
    message: str = ""
    stored: float = 0.0


class _Board:
    """An actor that the chunks of every job tell where they are and how far."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, RunningChunk]] = defaultdict(dict)

    def put(self, job: str, entry: RunningChunk) -> None:
        self.entries[job][entry.key] = entry

    def drop(self, job: str, key: str) -> None:
        self.entries[job].pop(key, None)

    def clear(self, job: str) -> None:
        self.entries.pop(job, None)

    def read(self, job: str) -> list[RunningChunk]:
        return list(self.entries[job].values())


def board_of(ray: ModuleType) -> Any:
    """The actor, on this node, while it is referred to; it takes no core.

    An actor that needs nothing is placed by way of any node, also one that was lost and is not yet known to be.
    """
    from ray.util import get_node_ip_address
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    mark = {f"node:{get_node_ip_address()}": 0.001}
    return ray.remote(_Board).options(num_cpus=0, resources=mark, scheduling_strategy=here, max_restarts=-1).remote()


class Teller:
    """The board as one chunk of a job sees it, in the chunk's own process."""

    def __init__(self, actor: Any, job: str, key: str, node: str) -> None:
        self.actor, self.job, self.key, self.node, self._last = actor, job, key, node, 0.0
        actor.put.remote(job, RunningChunk(key, node))

    def report(self, fraction: float, message: str, stored: float = 0.0) -> None:
        """So much of the chunk is done, and so much of that lay there; said at most twice a second."""
        now = time.monotonic()
        if now - self._last >= OFTEN:
            self._last = now
            self.actor.put.remote(self.job, RunningChunk(self.key, self.node, fraction, message, stored))

    def done(self) -> None:
        """Nobody else says so."""
        self.actor.drop.remote(self.job, self.key)


class RayCluster:
    """The cluster that this process is connected to, for the chunks of one job."""

    def __init__(self, ray: ModuleType, board: Any, job: str) -> None:
        self.ray, self.board, self.job = ray, board, job

    def entries(self, pending: Iterable[str]) -> list[RunningChunk]:
        """The chunks of `pending` that were begun; none where the board does not answer."""
        keys = set(pending)
        with suppress(self.ray.exceptions.RayError):
            entries = self.ray.get(self.board.read.remote(self.job), timeout=PATIENCE)
            return [entry for entry in entries if entry.key in keys]
        return []

    def nodes(self, entries: Iterable[RunningChunk] = ()) -> list[Node]:
        """The nodes that stand, with the chunks that run on them."""
        running = list(entries)
        return [Node(f"{node['NodeManagerHostname']} ({node['NodeID'][:6]})", node["Resources"].get("CPU", 0.0),
                     node["Resources"].get("GPU", 0.0), int(node["Resources"].get("memory", 0)),
                     tuple(Running(self.job, entry.key, entry.share) for entry in running
                           if entry.node == node["NodeID"]))
                for node in self.ray.nodes() if node["Alive"]]

    def gone(self) -> set[str]:
        """The ids of the nodes that were lost, as far as that is known."""
        return {node["NodeID"] for node in self.ray.nodes() if not node["Alive"]}

    def gpu_memory(self) -> int:
        """Bytes of the smallest GPU that a look at each node with GPUs finds; 0 where none can be used."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        looks = [self.ray.remote(_gpu_bytes).options(
            num_cpus=0, num_gpus=LEAST_SHARE,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote()
            for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("GPU", 0.0)]
        with suppress(self.ray.exceptions.RayError):
            return min(self.ray.get(looks), default=0)
        return 0

    def close(self) -> None:
        """Forget the job's chunks."""
        with suppress(self.ray.exceptions.RayError):
            self.board.clear.remote(self.job)


def share_of_gpu(memory: int, whole: int) -> float:
    """What a chunk that holds `memory` bytes takes of a GPU with `whole` bytes, in hundredths; all of it where either
    is not known.

    >>> share_of_gpu(8 << 30, 80 << 30)
    0.13
    """
    if not memory or not whole:
        return 1.0
    fraction = -(-100 * HEADROOM * memory // whole) / 100
    return 1.0 if fraction > 0.5 else max(LEAST_SHARE, fraction)


def _gpu_bytes() -> int:
    import torch

    return torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else 0


def surroundings() -> dict[str, str]:
    """The variables that name folders and modules of this program, and what it asks of libraries, for processes on
    other nodes."""
    return {name: value for name, value in os.environ.items() if name.startswith("WHICHFLUENCE_") or name in DEFAULTS}
