"""Arrays that are filled row by row: on disk, mapped into memory and checked against their manifest, or in memory.

    FOLDER/manifest.json   what determines the rows, names and shapes of the arrays, and, once whole, their checksums
    FOLDER/NAME.npy        one array each
    FOLDER/done.npy        which rows are there: set after the rows themselves are on disk

Whoever needs the arrays only until a command ends opens them `in_memory`, as far as they fit there.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.files import atomic_write, discard, disk_errors
from engine.basics.folders import home_folder
from engine.basics.locks import one_at_a_time
from engine.basics.strict_json import parse_object
from engine.models.training import Diverged

MANIFEST, DONE = "manifest.json", "done"
IN_MEMORY = 256 << 20
"""Bytes of all caches that are opened in memory; those beyond are on disk."""


class Altered(StoreError):
    """A cache is not as it was written."""


class Cache:
    """Arrays of n rows in a folder. `columns`: name -> shape of one row; every array is float32.

    Opening a folder that holds something else raises `StoreError`; it is never overwritten. One that was altered or
    truncated is removed whole, and begins anew.
    """

    on_disk = True

    def __init__(self, folder: Path, identity: Mapping[str, Any], rows: int,
                 columns: Mapping[str, Sequence[int]]) -> None:
        self.folder, self.rows = Path(folder), rows
        self.columns = {name: tuple(shape) for name, shape in columns.items()}
        self.described = {"identity": dict(identity), "rows": rows,
                          "columns": {name: list(shape) for name, shape in self.columns.items()}}
        if not (self.folder / MANIFEST).is_file():
            self._create()
        try:
            self._verify()
        except Altered:
            with disk_errors(f"cache `{self.folder.name}`"):
                discard(self.folder, home_folder() / "tmp")
            self._create()

    def __getitem__(self, name: str) -> np.ndarray:
        """One array, mapped read-only."""
        return np.load(self._path(name), mmap_mode="r", allow_pickle=False)

    @property
    def missing(self) -> list[int]:
        """The rows that are not there yet."""
        return np.flatnonzero(~np.load(self._path(DONE), allow_pickle=False)).tolist()

    @property
    def size(self) -> int:
        """Bytes of all its arrays."""
        return sum(self._path(name).stat().st_size for name in self.columns)

    def put(self, rows: Sequence[int], values: Mapping[str, np.ndarray]) -> None:
        """Write rows of every array; they count as done when all are on disk."""
        with disk_errors(f"cache `{self.folder.name}`"):
            for name in self.columns:
                self._write(name, rows, values[name])
            self._write(DONE, rows, True)

    def _write(self, name: str, rows: Sequence[int], values: np.ndarray | bool) -> None:
        """Rows of one array, to the disk: as a file, which takes a third of the time of mapped pages."""
        array = np.load(self._path(name), mmap_mode="r", allow_pickle=False)
        whole = np.broadcast_to(np.asarray(values, dtype=array.dtype), (len(rows), *array.shape[1:]))
        with self._path(name).open("r+b") as file:
            for row, value in zip(rows, np.ascontiguousarray(whole), strict=True):
                file.seek(array.offset + row * value.nbytes)
                file.write(value)
            file.flush()
            os.fsync(file.fileno())

    def seal(self) -> None:
        """Write the checksums into the manifest, once every row is there."""
        if self.missing:
            raise StoreError(f"The cache `{self.folder.name}` lacks {len(self.missing)} rows; fill it first.")
        sums = {name: _checksum(self._path(name)) for name in self.columns}
        atomic_write(self.folder / MANIFEST, json.dumps({**self.described, "sha256": sums}, indent=1))

    @property
    def sealed(self) -> bool:
        return "sha256" in self._manifest()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def _create(self) -> None:
        """Empty arrays, unless another process has made them meanwhile: it may be filling them already."""
        with disk_errors(f"cache `{self.folder.name}`"):
            self.folder.mkdir(parents=True, exist_ok=True)
            with one_at_a_time(self.folder):
                if (self.folder / MANIFEST).is_file():
                    return
                for name, shape in self.columns.items():
                    np.lib.format.open_memmap(self._path(name), "w+", np.float32, (self.rows, *shape)).flush()
                np.save(self._path(DONE), np.zeros(self.rows, dtype=bool))
                atomic_write(self.folder / MANIFEST, json.dumps(self.described, indent=1))

    def _manifest(self) -> dict[str, Any]:
        try:
            return parse_object((self.folder / MANIFEST).read_bytes(), "its manifest")
        except (OSError, InvalidInput):
            raise self._damage("its manifest cannot be read") from None

    def _verify(self) -> None:
        manifest = self._manifest()
        for key, value in self.described.items():
            if manifest.get(key) != value:
                raise StoreError(f"The cached gradients in `{self.folder}` belong to another run, by their `{key}`; "
                                 "delete that folder and repeat the run.")
        for name, shape in {DONE: (), **self.columns}.items():
            try:
                array = self[name]
            except (OSError, ValueError, EOFError):
                raise self._damage(f"`{name}.npy` is missing or truncated") from None
            if array.shape != (self.rows, *shape) or array.dtype != (bool if name == DONE else np.float32):
                raise self._damage(f"`{name}.npy` has shape {array.shape} and type {array.dtype}")
            if name != DONE and "sha256" in manifest and manifest["sha256"].get(name) != _checksum(self._path(name)):
                raise self._damage(f"`{name}.npy` was altered: its checksum differs")

    def _damage(self, reason: str) -> Altered:
        return Altered(f"The cached gradients in `{self.folder.name}` cannot be used: {reason}; repeat the run.")


class MemoryCache(Cache):
    """The same in memory."""

    on_disk = False

    def _create(self) -> None:
        self.arrays = {name: np.zeros((self.rows, *shape), dtype=np.float32) for name, shape in self.columns.items()}
        self.done = np.zeros(self.rows, dtype=bool)
        self.whole = False

    def _verify(self) -> None:
        """Nobody else writes here."""

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    @property
    def missing(self) -> list[int]:
        return np.flatnonzero(~self.done).tolist()

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def put(self, rows: Sequence[int], values: Mapping[str, np.ndarray]) -> None:
        for name in self.columns:
            self.arrays[name][list(rows)] = values[name]
        self.done[list(rows)] = True

    def seal(self) -> None:
        self.whole = True

    @property
    def sealed(self) -> bool:
        return self.whole


_HELD: ContextVar[dict[Path, MemoryCache] | None] = ContextVar("caches in memory", default=None)


@contextmanager
def in_memory() -> Iterator[None]:
    """Caches that are opened within, and are not on disk yet, are in memory up to `IN_MEMORY` bytes, until the end."""
    token = _HELD.set({})
    try:
        yield
    finally:
        _HELD.reset(token)


def opened(folder: Path, identity: Mapping[str, Any], rows: int, columns: Mapping[str, Sequence[int]]) -> Cache:
    """The cache of a folder, which may be in memory."""
    held = _HELD.get()
    if held is None or (folder / MANIFEST).is_file():
        return Cache(folder, identity, rows, columns)
    size = 4 * rows * sum(math.prod(shape) for shape in columns.values())
    if folder not in held and size + sum(cache.size for cache in held.values()) <= IN_MEMORY:
        held[folder] = MemoryCache(folder, identity, rows, columns)
    return held.get(folder) or Cache(folder, identity, rows, columns)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_finite(columns: Iterable[tuple[str, np.ndarray]], step: int) -> None:
    """Raise `Diverged` for a column, (name, values), with a number that is none."""
    for name, values in columns:
        if not np.isfinite(values).all():
            raise Diverged(f"The gradients at step {step} of the training are not finite (`{name}`); choose a smaller "
                           "learning rate, or compute them on another device.")
