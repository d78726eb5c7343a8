"""Who works: the table of live workers, and starting one where there is none."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from engine.basics.errors import StoreError
from engine.basics.folders import shared_by
from engine.jobs.database import Database
from engine.jobs.queue import DEAD_AFTER, heard
from engine.store.results import home

STARTING = 60.0  # seconds that a worker may take from its start to its first heartbeat
LOG_LIMIT = 1_000_000  # bytes
WORKER = f"{__name__.removesuffix('.jobs.workers')}.worker"
"""The module, whose package has another name where the program is installed."""


class Workers:
    """The workers of one home folder, by their heartbeats; homes in a shared folder have their workers together."""

    def __init__(self, root: Path | str | None = None) -> None:
        self.root = shared_by(Path(root) if root is not None else home())
        self.database = Database(self.root / "queue.sqlite")

    def alive(self, within: float | None = None) -> list[str]:
        """The ids of workers that count as alive (`heard`) or are starting."""
        with self.database.reading() as connection:
            rows = connection.execute("SELECT id FROM workers WHERE heartbeat BETWEEN ? AND ? AND note = ''",
                                      heard(time.time(), within)).fetchall()
        return [row["id"] for row in rows]

    def trouble(self) -> str:
        """Why the last worker could not start, as a sentence; empty if there is no trouble."""
        with self.database.reading() as connection:
            row = connection.execute("SELECT note FROM workers ORDER BY heartbeat DESC LIMIT 1").fetchone()
        return row["note"] if row else ""

    def reserve(self) -> str | None:
        """The id for a new worker, or None if one lives or is starting: of several callers one gets an id."""
        now = time.time()
        with self.database.writing() as connection:
            if connection.execute("SELECT 1 FROM workers WHERE heartbeat BETWEEN ? AND ?",
                                  heard(now)).fetchone():
                return None
            worker = new_worker_id()
            connection.execute("DELETE FROM workers")
            connection.execute("INSERT INTO workers (id, heartbeat) VALUES (?, ?)",
                               (worker, now + STARTING - DEAD_AFTER))
        return worker

    def join(self, worker: str) -> None:
        """Put `worker` on the table: what kept others from starting is over."""
        with self.database.writing() as connection:
            connection.execute("DELETE FROM workers WHERE note <> ''")
        self.beat(worker)

    def beat(self, worker: str) -> None:
        """Say that `worker` is alive."""
        with self.database.writing() as connection:
            connection.execute("INSERT INTO workers (id, heartbeat) VALUES (?, ?) ON CONFLICT (id) DO UPDATE "
                               "SET heartbeat = excluded.heartbeat", (worker, time.time()))

    def fail(self, worker: str, sentence: str) -> None:
        """Say why `worker` cannot start; the next start is tried only after `STARTING` seconds."""
        with self.database.writing() as connection:
            connection.execute("INSERT INTO workers (id, heartbeat, note) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE "
                               "SET note = excluded.note", (worker, time.time() + STARTING - DEAD_AFTER, sentence))

    def leave(self, worker: str) -> None:
        """Take `worker` off the table. One that leaves for want of work looks again for a job afterwards: who submits
        one from now on finds no live worker, so that `ensure_worker` starts another."""
        with self.database.writing() as connection:
            connection.execute("DELETE FROM workers WHERE id = ?", (worker,))


def new_worker_id() -> str:
    """A fresh name for a worker: its starter's process number and a random part."""
    return f"{os.getpid()}-{secrets.token_hex(4)}"


def ensure_worker(root: Path | str | None = None, *, kinds: Sequence[str] = (), idle_exit: float = 600.0) -> bool:
    """Start a detached worker if none lives; return whether one was started. Does not wait for it.

    Call it after `submit` and whenever a job waits: it costs one short query while a worker lives.
    """
    workers = Workers(root)
    if workers.alive():
        return False
    worker = workers.reserve()
    if worker is None:
        return False
    command = [sys.executable, "-m", WORKER, "--home", str(workers.root), "--id", worker,
               "--idle-exit", str(idle_exit), *(word for module in kinds for word in ("--kinds", module))]
    try:
        with _log(workers.root).open("ab") as log:
            process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log, start_new_session=True)
    except OSError as error:
        workers.leave(worker)
        raise StoreError(f"The worker cannot be started ({error.strerror or error}); "
                         "start one with `python -m engine.worker`.") from error
    _remember(process)
    return True


_started: list[subprocess.Popen] = []
_started_lock = threading.Lock()


def _remember(process: subprocess.Popen) -> None:
    """Keep the workers that run, and ask after those that ended, so that no zombies are left."""
    with _started_lock:
        _started[:] = [child for child in [*_started, process] if child.poll() is None]


def _log(root: Path) -> Path:
    path = root / "logs" / "worker.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_LIMIT:
        path.unlink()
    return path
