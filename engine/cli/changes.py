"""changes.csv: which training examples are removed, and which get another label."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

from engine.basics.delimited import plain
from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole

MOST_CHANGES = 50_000_000
"""Bytes of the file."""


def read_changes(path: Path) -> tuple[list[int], dict[int, int]]:
    """(rows to remove, rows to relabel) of a CSV with the columns row and label.

    Raises `MissingData` where there is no such file; `InvalidInput` for another file, one without a change, and a row
    that stands there twice.
    """
    content = read_whole(path, "file", MOST_CHANGES, f"`{path}` is larger than 50 MB, which no list of changes "
                                                     "needs; check the path.")
    try:
        pairs = _pairs(plain(content)[0].decode("utf-8-sig"))
    except (ValueError, csv.Error):
        raise InvalidInput(f"`{path}` is not a CSV with whole numbers in the columns `row` and `label`; download it "
                           "from the page, or leave `label` empty where an example is removed.") from None
    if not pairs:
        raise InvalidInput(f"`{path}` changes nothing: it has no rows; give one row a change.")
    twice = next((row for row, times in Counter(row for row, _ in pairs).items() if times > 1), None)
    if twice is not None:
        raise InvalidInput(f"`{path}` says twice what happens to row {twice:,}; keep one of them.")
    return [row for row, label in pairs if label is None], {row: label for row, label in pairs if label is not None}


def _pairs(text: str) -> list[tuple[int, int | None]]:
    """(row, label or None) of every line. Raises `ValueError`, `csv.Error` for anything else."""
    header, *lines = [line for line in csv.reader(io.StringIO(text), strict=True) if line]
    if any(len(line) != len(header) for line in lines) or any(header.count(name) != 1 for name in ("row", "label")):
        raise ValueError("a line of another length, or a column that is missing or stands twice")
    row, label = header.index("row"), header.index("label")
    return [(_number(line[row]), _number(line[label]) if line[label].strip() else None) for line in lines]


def _number(text: str) -> int:
    """A whole number of a table; raises `ValueError` for other text, and for one that no row or label can have."""
    number = int(text)
    if not 0 <= number < 2**53:
        raise ValueError("out of range")
    return number
