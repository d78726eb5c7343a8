"""What trainings leave under HOME/language: how large it is, and its removal.

    HOME/language/runs/DIGEST/training.json   what a training was
    HOME/language/locks/DIGEST                locked by every process that computes with the training; touched each time

Whatever is removed is trained again when it is needed. Results are stored elsewhere and stay. So does the empty lock:
another process may be waiting for it, and would hold a file that nobody else finds.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write, disk_errors
from engine.basics.folders import home_folder
from engine.basics.locks import alone, share

TRAINING, MANIFEST = "training.json", "manifest.json"
LENGTH = 32
"""Digits of a digest that name its folders."""


@dataclass(frozen=True)
class StoredTraining:
    """One training on disk. digest: as its folders are named. Sizes in bytes; used: seconds since 1970."""

    digest: str
    description: Mapping[str, Any]
    checkpoints: int
    gradients: int
    used: float

    @property
    def size(self) -> int:
        return self.checkpoints + self.gradients


class Hold:
    """A training in use: it cannot be removed while this object lives, in this or any other process."""

    def __init__(self, digest: str) -> None:
        path = _lock(digest)
        with disk_errors("the lock of a training"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
            os.utime(path)
        share(self._file)

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._file.close()


def describe(digest: str, description: Mapping[str, Any]) -> None:
    """Write down what a training is, once."""
    path = _root() / "runs" / digest[:LENGTH] / TRAINING
    if not path.is_file():
        with disk_errors("a training"):
            path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, json.dumps(description, indent=1))


def trainings() -> list[StoredTraining]:
    """Every training of which something is on disk, the one used last first."""
    gradients: dict[str, int] = {}
    for folder, digest in caches():
        gradients[digest] = gradients.get(digest, 0) + _size(folder)
    runs = {path.name for path in (_root() / "runs").glob("*") if path.is_dir()}
    trained = [StoredTraining(digest, _description(digest), _size(_root() / "runs" / digest), gradients.get(digest, 0),
                    _used(digest)) for digest in runs | set(gradients)]
    return sorted(trained, key=lambda training: (-training.used, training.digest))


def delete(digest: str, busy: Collection[str] = ()) -> int:
    """Remove the checkpoints and caches of a training; returns the bytes that it held.

    busy: digests that a queued or running job needs. Raises `InvalidInput` where it is in use, or is not there.
    """
    training = next((training for training in trainings() if training.digest == digest), None)
    if training is None:
        raise InvalidInput(f"There is no training `{digest}` here; list them first.")
    _remove(digest, [*(folder for folder, own in caches() if own == digest), _root() / "runs" / digest], busy)
    return training.size


def delete_caches(digest: str, folders: Collection[Path], busy: Collection[str] = ()) -> int:
    """Remove some caches of a training; returns the bytes that they held. busy, raises: as `delete`."""
    size = sum(map(_size, folders))
    _remove(digest, folders, busy)
    return size


def _remove(digest: str, folders: Collection[Path], busy: Collection[str]) -> None:
    with disk_errors("the lock of a training"):
        _lock(digest).parent.mkdir(parents=True, exist_ok=True)
        file = _lock(digest).open("ab")
    with file:
        if digest in busy or not alone(file):
            raise InvalidInput(f"The training `{digest}` is used by a run that is under way; cancel that run, or wait.")
        grave = home_folder() / "tmp" / f"deleted.{os.getpid()}.{secrets.token_hex(4)}"
        grave.mkdir(parents=True)
        for folder in folders:
            with suppress(FileNotFoundError):
                os.rename(folder, grave / folder.name)  # whoever looks finds all of it or nothing
        shutil.rmtree(grave, ignore_errors=True)


def _root() -> Path:
    return home_folder() / "language"


def _lock(digest: str) -> Path:
    return _root() / "locks" / digest[:LENGTH]


def caches() -> list[tuple[Path, str]]:
    """(folder, digest of its training) of every cache whose manifest can be read."""
    listed = []
    for path in sorted((_root() / "gradients").glob(f"*/{MANIFEST}")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            listed.append((path.parent, json.loads(path.read_bytes())["identity"]["run"][:LENGTH]))
    return listed


def _description(digest: str) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        description = json.loads((_root() / "runs" / digest / TRAINING).read_bytes())
        if isinstance(description, dict):
            return description
    return {}


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _used(digest: str) -> float:
    for path in (_lock(digest), _root() / "runs" / digest):
        with suppress(OSError):
            return path.stat().st_mtime
    return time.time()
