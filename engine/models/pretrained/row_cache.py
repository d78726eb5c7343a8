"""Features of rows, stored by the content of each row: HOME/features/NAME.sqlite."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import numpy as np

from engine.basics.databases import database_errors
from engine.basics.files import disk_errors
from engine.basics.folders import home_folder
from engine.basics.options import Options
from engine.basics.transactions import immediate

Rows = Callable[[np.ndarray], np.ndarray]
PATIENCE = 60.0
AT_ONCE = 500
PAGE_BYTES = 16 * 1024
SUM = 4
"""Bytes of the checksum behind the numbers of a row."""


def cached_rows(name: str, keys: Sequence[bytes], width: int, compute: Rows, block: int,
                options: Options | None = None) -> np.ndarray:
    """(n, width) float32: the features of each row, computed for those whose key is not stored yet.

    name: of the extractor, with all that decides its numbers. keys: the digest of each row; equal rows are computed
    once. compute: positions (b,) of at most `block` rows -> (b, width). Each block is stored before the next, so that
    a cancelled run goes on where it stopped. Raises `StoreError` where the file cannot be written.
    """
    options, path = options or Options(), home_folder() / "features" / f"{name}.sqlite"
    out = np.empty((len(keys), width), dtype=np.float32)
    position: dict[bytes, list[int]] = {}
    for index, key in enumerate(keys):
        position.setdefault(key, []).append(index)
    stored = _read(path, list(position), width)
    for key, values in stored.items():
        out[position[key]] = values
    missing = [key for key in position if key not in stored]
    for start in range(0, len(missing), block):
        options.check()
        now = missing[start:start + block]
        values = np.ascontiguousarray(compute(np.array([position[key][0] for key in now])), dtype="<f4")
        _write(path, dict(zip(now, values, strict=True)))
        for key, row in zip(now, values, strict=True):
            out[position[key]] = row
        options.progress((start + len(now)) / len(missing))
    return out


def _read(path: Path, keys: Sequence[bytes], width: int) -> dict[bytes, np.ndarray]:
    """The stored rows of these keys; none of a file that is damaged, which is removed, and no damaged row."""
    if not path.is_file():
        return {}
    try:
        with _connection(path) as connection:
            rows = [row for start in range(0, len(keys), AT_ONCE)
                    for row in _select(connection, keys[start:start + AT_ONCE])]
    except sqlite3.DatabaseError as error:
        _remove(path, error)
        return {}
    return {key: np.frombuffer(values, "<f4", width) for key, values in rows if _is_whole(values, 4 * width)}


def _is_whole(values: bytes, size: int) -> bool:
    """Whether they are a row with its checksum; the first rows were stored without one."""
    return len(values) == size or len(values) == size + SUM and values[size:] == _checksum(values[:size])


def _checksum(row: bytes) -> bytes:
    return zlib.crc32(row).to_bytes(SUM, "little")


def _remove(path: Path, error: sqlite3.DatabaseError) -> None:
    """Remove a file that is damaged. Raises `StoreError` for any other fault."""
    with _sentences(path):
        if isinstance(error, sqlite3.OperationalError):
            raise error
        path.unlink(missing_ok=True)


def _sentences(path: Path) -> AbstractContextManager[None]:
    return database_errors(path, "the file of stored features", "delete it; they are then computed again")


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    marks = ", ".join("?" * len(keys))
    return connection.execute(f"SELECT key, row FROM features WHERE key IN ({marks})", keys).fetchall()


def _write(path: Path, rows: dict[bytes, np.ndarray]) -> None:
    with disk_errors("the features of your data"):
        path.parent.mkdir(parents=True, exist_ok=True)
    stored = [(key, own + _checksum(own)) for key, own in ((key, row.tobytes()) for key, row in rows.items())]
    try:
        _insert(path, stored)
    except sqlite3.DatabaseError as error:
        _remove(path, error)
        with _sentences(path):
            _insert(path, stored)


def _insert(path: Path, rows: Sequence[tuple[bytes, bytes]]) -> None:
    with _connection(path) as connection, immediate(connection):
        connection.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", rows)


@contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS features (key BLOB PRIMARY KEY, row BLOB NOT NULL) STRICT")
        yield connection
