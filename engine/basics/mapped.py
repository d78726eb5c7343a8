"""Rows of an array that may be mapped from a file, without all of its pages in memory at once."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

BLOCK_BYTES = 16 << 20
"""Of a block of rows."""


class Rows(Protocol):
    """An array (n, k), or what computes rows of one as they are read."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


def blocks(rows: Rows) -> Iterator[tuple[slice, np.ndarray]]:
    """(where they stand, rows (b, k)) of rows (n, k), one block after another; an empty one where there is no row. The
    pages of a mapped array leave the memory of the process after each block, and stay on disk."""
    step = max(1, BLOCK_BYTES // max(1, rows[:1].nbytes))
    for start in range(0, max(1, len(rows)), step):
        at = slice(start, start + step)
        yield at, rows[at]
        release(rows)


def release(rows: Rows) -> None:
    """Take the pages of a mapped array, or of a view of one, out of the process's memory; nothing for other arrays."""
    source = file_of(rows)
    if source is not None and hasattr(mmap, "MADV_DONTNEED"):  # Windows has none
        source.madvise(mmap.MADV_DONTNEED)


def file_of(rows: Rows) -> mmap.mmap | None:
    """The mapping that an array, or a view of one, reads; None for one in memory."""
    source: object = rows
    while isinstance(source, np.ndarray):
        source = source.base
    return source if isinstance(source, mmap.mmap) else None
