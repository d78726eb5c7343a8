"""What is known of a cluster's nodes while jobs are computed there, written by the worker and read by the pages.

    SHARED/cluster/WORKER.json    what one worker's cluster looked like last, and when
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.basics.errors import StoreError
from engine.basics.files import atomic_write
from engine.basics.folders import shared_by

FOLDER = "cluster"
FRESH = 15.0  # seconds that a sighting counts


@dataclass(frozen=True)
class Running:
    """One chunk on a node: the digest of its job, its key, and the share of it that is done."""

    job: str
    chunk: str
    share: float


@dataclass(frozen=True)
class Node:
    """A node with what it offers to chunks. memory: bytes."""

    name: str
    cores: float
    gpus: float
    memory: int
    running: tuple[Running, ...] = ()


class Sighting:
    """One worker's view of its cluster."""

    def __init__(self, home: Path) -> None:
        self.path = shared_by(home) / FOLDER / f"{os.uname().nodename}-{os.getpid()}.json"

    def write(self, nodes: Sequence[Node]) -> None:
        """In place of what was seen before; a full disk keeps nobody from computing."""
        with suppress(OSError, StoreError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self.path, json.dumps({"seen": time.time(), "nodes": [asdict(node) for node in nodes]}))

    def remove(self) -> None:
        """The worker computes no more."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def nodes_seen(home: Path, within: float = FRESH) -> list[Node]:
    """The nodes that workers of this home computed on within `within` seconds, by name; [] where none does.

    A node that several workers see is one, with the chunks of all of them.
    """
    by_name: dict[str, Node] = {}
    for path in sorted((shared_by(home) / FOLDER).glob("*.json")):
        for node in _read(path, time.time() - within):
            before = by_name[node.name].running if node.name in by_name else ()
            by_name[node.name] = Node(node.name, node.cores, node.gpus, node.memory, before + node.running)
    return [by_name[name] for name in sorted(by_name)]


def _read(path: Path, since: float) -> list[Node]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        sighting = json.loads(path.read_bytes())
        if sighting["seen"] >= since:
            return [Node(**{**node, "running": tuple(Running(**one) for one in node["running"])})
                    for node in sighting["nodes"]]
    return []
