"""The SQLite file behind the queue: short transactions from any thread or process, faults as one sentence."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from engine.basics.databases import database_errors
from engine.basics.errors import StoreError
from engine.basics.transactions import immediate

SCHEMA_VERSION = 4
SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0, share REAL NOT NULL DEFAULT 0,
    seconds_left REAL, message TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '',
    worker TEXT, heartbeat REAL, cancel INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL, queued REAL NOT NULL, started REAL, updated REAL NOT NULL, finished REAL,
    background INTEGER NOT NULL DEFAULT 0,
    low REAL, high REAL, spent REAL NOT NULL DEFAULT 0,
    predicted REAL, predicted_low REAL, predicted_high REAL,
    batch TEXT NOT NULL DEFAULT '', batch_title TEXT NOT NULL DEFAULT '', part TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE IF NOT EXISTS traces (
    job TEXT PRIMARY KEY, kind TEXT NOT NULL, work REAL NOT NULL, words TEXT NOT NULL,
    seconds REAL NOT NULL, processor REAL NOT NULL, ended REAL NOT NULL, crowd REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, queued);
CREATE TABLE IF NOT EXISTS workers (
    id TEXT PRIMARY KEY, heartbeat REAL NOT NULL, note TEXT NOT NULL DEFAULT ''
) STRICT;
"""
ADDED = {"background": "INTEGER NOT NULL DEFAULT 0",
         "low": "REAL", "high": "REAL", "spent": "REAL NOT NULL DEFAULT 0",
         "predicted": "REAL", "predicted_low": "REAL", "predicted_high": "REAL",
         "batch": "TEXT NOT NULL DEFAULT ''", "batch_title": "TEXT NOT NULL DEFAULT ''",
         "part": "TEXT NOT NULL DEFAULT ''"}
"""Columns of jobs that versions 2 and 3 added."""
PATIENCE = 10.0  # seconds to wait for another process's transaction


class Database:
    """One SQLite file in WAL mode; a connection lasts for one transaction, so threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for queries; rows are mappings."""
        with self._sentences(), closing(self._connect()) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start, committed at the end or undone on an error."""
        with self._sentences(), closing(self._connect()) as connection, immediate(connection):
            yield connection

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = NORMAL")
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise StoreError("The job queue was written by a newer version of Whichfluence; update this one.")
        if version < SCHEMA_VERSION:
            _switch_to_wal(connection)
            with immediate(connection):
                _complete(connection)

    def _sentences(self) -> AbstractContextManager[None]:
        return database_errors(self.path, "the job queue", "move it away; runs then resume from their chunks")


def _complete(connection: sqlite3.Connection) -> None:
    """The tables as they are now; a queue of an older version keeps its jobs, those of version 1 as what a person asked
    for."""
    connection.execute("DROP TABLE IF EXISTS traces")  # those of version 3 measured other work
    for statement in filter(str.strip, SCHEMA.split(";")):
        connection.execute(statement)
    there = {column["name"] for column in connection.execute("PRAGMA table_info(jobs)")}
    for name, declared in ADDED.items():
        if name not in there:
            connection.execute(f"ALTER TABLE jobs ADD COLUMN {name} {declared}")
    if "spent" not in there:
        connection.execute("UPDATE jobs SET spent = max(0, finished - started) "
                           "WHERE state = 'done' AND started IS NOT NULL AND finished IS NOT NULL")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for others here, so several first users have to take turns by themselves."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
