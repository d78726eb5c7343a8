"""What files hold, as digests that are computed once while a file stays as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path


def content(path: Path | str) -> str:
    """The SHA-256 of a file. It is read again only where its path, size, times or inode differ.

    Raises `OSError` as reading does.
    """
    path = Path(path).resolve()
    stat = path.stat()
    return _content(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


def contents(paths: Iterable[Path]) -> str:
    """The SHA-256 over files with their names, whatever their order and folder."""
    named = sorted((path.name, content(path)) for path in paths)
    return hashlib.sha256("\n".join(f"{name}:{digest}" for name, digest in named).encode()).hexdigest()


@lru_cache(maxsize=1024)
def _content(path: Path, *state: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
