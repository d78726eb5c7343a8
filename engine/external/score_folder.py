"""The score folders of bergson: `info.json`, which declares a table, and `scores.bin`, which holds it.

A row of the table is a training example, and has for each query i a number `score_<i>` and a byte `written_<i>` that
says whether it was computed. What `info.json` declares of them is checked against the size of the file before
anything is read.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole
from engine.basics.strict_json import parse_object
from engine.data.archive import open_zip
from engine.external import budgets
from engine.external.table import Table, Wanted

INFO, SCORES = "info.json", "scores.bin"
BFLOAT16 = "bfloat16"
STORED = {"float16": "<f2", "float32": "<f4", "float64": "<f8", BFLOAT16: "<u2"}
"""How a score may be stored -> how it is read; half of a float32 as the whole number that its bytes are."""
DAMAGED = f"`{INFO}` does not describe a folder of scores as bergson writes it; run `bergson score` again."


@dataclass(frozen=True)
class RowLayout:
    """What `info.json` declares: so many rows of `row_bytes`, and where in a row each score and its mark stand."""

    rows: int
    row_bytes: int
    stored: Sequence[str]
    scores: Sequence[int]
    written: Sequence[int]


def read_score_folder(folder: Path) -> Table:
    """The table in a folder. Raises `MissingData` where a file is missing, `InvalidInput` as `read_zipped` does."""
    info = read_whole(folder / INFO, "file", budgets.MOST_HEADER, DAMAGED)
    return table_of(info, read_whole(folder / SCORES, "file", budgets.MOST_BYTES, budgets.too_large()))


def read_zipped(content: bytes, wanted: Wanted) -> Table:
    """The table in a zip of one folder. Raises `InvalidInput` where there is none or several, where its scores are of
    tokens, and for what contradicts itself."""
    with open_zip(io.BytesIO(content), "zip", budgets.MOST_BYTES) as archive:
        members = [member for member in archive.infolist() if PurePosixPath(member.filename).name == SCORES]
        if len(members) != 1:
            raise InvalidInput(f"The zip holds {len(members) or 'no'} files `{SCORES}`; pack one folder of scores as "
                               f"bergson writes it, with `{INFO}` and `{SCORES}`.")
        info = str(PurePosixPath(members[0].filename).with_name(INFO))
        if info not in archive.namelist() or archive.getinfo(info).file_size > budgets.MOST_HEADER:
            raise InvalidInput(f"The zip has no `{INFO}` beside `{SCORES}`; pack the whole folder.")
        return table_of(archive.read(info), archive.read(members[0]))


def table_of(info: bytes, content: bytes) -> Table:
    """The table that the contents of the two files make. Raises `InvalidInput` where they do not."""
    layout = _layout(parse_object(info, f"`{INFO}`"))
    if layout.rows * layout.row_bytes != len(content):
        raise InvalidInput(f"`{SCORES}` has {len(content):,} bytes, and `{INFO}` declares {layout.rows:,} rows of "
                           f"{layout.row_bytes:,}; copy both files again.")
    budgets.check_values(layout.rows * len(layout.scores))
    rows = np.frombuffer(content, np.uint8).reshape(layout.rows, layout.row_bytes)
    columns = [_column(rows, *column) for column in zip(layout.stored, layout.scores, layout.written, strict=True)]
    return Table(np.stack(columns, 1))


def _column(rows: np.ndarray, stored: str, at: int, mark: int) -> np.ndarray:
    """The scores of one query in float64; NaN where none was written."""
    kind = np.dtype(STORED[stored])
    values = np.ascontiguousarray(rows[:, at:at + kind.itemsize]).view(kind)[:, 0]
    if stored == BFLOAT16:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return np.where(rows[:, mark] != 0, values.astype(np.float64), np.nan)


def _layout(info: Mapping[str, Any]) -> RowLayout:
    """Raises `InvalidInput` for a declaration that is none."""
    if info.get("attribute_tokens"):
        raise InvalidInput("The folder has a score for every token; score whole records, without `attribute_tokens`.")
    declared, queries = info.get("dtype"), _count(info.get("num_scores"))
    rows = _count(info["num_rows"] if "num_rows" in info else info.get("num_items"))
    if not isinstance(declared, dict):
        raise InvalidInput(DAMAGED)
    names, formats, offsets = (declared.get(key) for key in ("names", "formats", "offsets"))
    lists = [part for part in (names, formats, offsets) if isinstance(part, list) and len(part) == 2 * queries]
    if len(lists) != 3 or not all(isinstance(name, str) for name in lists[0]):
        raise InvalidInput(DAMAGED)
    index = {name: at for at, name in enumerate(lists[0])}
    wanted = [(f"score_{query}", f"written_{query}") for query in range(queries)]
    if any(name not in index for pair in wanted for name in pair):
        raise InvalidInput(DAMAGED)
    stored = [str(lists[1][index[score]]) for score, _ in wanted]
    scores, written = ([_count(lists[2][index[name]], 0) for name in part] for part in zip(*wanted, strict=True))
    row_bytes = _count(declared.get("itemsize"))
    ends = [at + np.dtype(STORED[kind]).itemsize for at, kind in zip(scores, stored, strict=True) if kind in STORED]
    if len(ends) < queries:
        raise InvalidInput(f"The scores are stored as {stored[0][:20]}; give {', '.join(STORED)}.")
    if max(*ends, max(written) + 1) > row_bytes:
        raise InvalidInput(DAMAGED)
    return RowLayout(rows, row_bytes, stored, scores, written)


def _count(value: Any, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= budgets.MOST_BYTES:
        raise InvalidInput(DAMAGED)
    return value
