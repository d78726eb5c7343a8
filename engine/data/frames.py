"""A user's tables as data frames: Parquet, Arrow, CSV of any dialect, and JSON with an object a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from engine.basics import delimited
from engine.basics.errors import InvalidInput
from engine.basics.strict_json import in_utf8, parse_json
from engine.data.archive import MAX_BYTES, megabytes

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

DAMAGED = (LookupError, TypeError, AttributeError)
"""What pandas raises where its own notes in a file are damaged."""
AS_TEXT = ("label", "class", "target", "split", "path", "file", "id", "name")
"""Columns of a text file that stay as they are written: `007` is another name than `7`."""


@dataclass(frozen=True)
class ReadTable:
    """A table as it is read. frame: with what indexed its rows as columns. said: how, in a sentence, if unusually.
    index: the column that was its index, if that has a name and names every row once."""

    frame: pd.DataFrame
    said: str = ""
    index: str | None = None


def read_frame(content: bytes, suffix: str, noun: str = "table", max_bytes: int = MAX_BYTES) -> ReadTable:
    """The rows of a file of one of `READERS`. Raises `InvalidInput` for one that is damaged or too large, for
    columns of two levels, and for two columns of one name."""
    import pyarrow as pa

    try:
        read = READERS[suffix](content, max_bytes)
    except InvalidInput:
        raise
    except (pa.ArrowException, OSError, ValueError, *DAMAGED):
        title = TITLES[suffix]
        raise InvalidInput(f"The {noun} cannot be read as {title}; save it again, for instance with pandas' "
                           f"`{WRITTEN[suffix]}`.") from None
    frame = read.frame
    if frame.columns.nlevels > 1 or frame.index.nlevels > 1:
        raise InvalidInput(f"The {noun} has an index or columns of several levels; give every column one name, for "
                           "instance with `reset_index` and by joining the levels of its columns.")
    frame.columns = frame.columns.map(str)
    if not frame.columns.is_unique:
        twice = str(frame.columns[frame.columns.duplicated()][0])
        raise InvalidInput(f"The {noun} has two columns `{twice[:60]}`; give each its own name.")
    name = str(frame.index.name)
    names = frame.index.name is not None and frame.index.is_unique and name not in frame.columns
    return ReadTable(_indexed(frame), read.said, name if names else None)


def _indexed(frame: pd.DataFrame) -> pd.DataFrame:
    """With an index that says something, a name or texts, as its first column; `id` where it has no name."""
    index = frame.index
    if index.name is None and index.dtype.kind in "iu":
        return frame.reset_index(drop=True)
    name = "id" if index.name is None else str(index.name)
    return frame.reset_index(drop=name in frame.columns, names=name)


def _checked(read: pa.Table, max_bytes: int) -> pd.DataFrame:
    read.validate(full=True)  # texts that are no UTF-8 would fail where they are first looked at
    _check_size(max(read.nbytes, 8 * read.num_rows * read.num_columns), max_bytes)
    try:
        return read.to_pandas()
    except Exception as error:  # what pandas wrote beside the columns may be damaged in any way
        raise ValueError(str(error)) from error


def _check_size(needed: int, max_bytes: int) -> None:
    if needed >= max_bytes:
        raise InvalidInput(f"The table unpacks to more than {megabytes(max_bytes)}; give a smaller one.")


def arrow_table(content: bytes, suffix: str, max_bytes: int = MAX_BYTES) -> pa.Table:
    """A Parquet or Arrow file with the types that it has. Raises as the libraries do."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = pa.BufferReader(content)
    if suffix == ".parquet":
        with pq.ParquetFile(source) as file:
            metadata = file.metadata
            needed = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
            _check_size(max(needed, 8 * metadata.num_rows * metadata.num_columns), max_bytes)
            return file.read()
    opened = pa.ipc.open_file if content.startswith(b"ARROW1") else pa.ipc.open_stream
    return opened(source).read_all()


def _parquet(content: bytes, max_bytes: int) -> ReadTable:
    return ReadTable(_checked(arrow_table(content, ".parquet", max_bytes), max_bytes))


def _arrow(content: bytes, max_bytes: int) -> ReadTable:
    return ReadTable(_checked(arrow_table(content, ".arrow"), max_bytes))


def _text(content: bytes, max_bytes: int) -> ReadTable:
    import pandas as pd

    _check_size(len(content), max_bytes)
    text, said = delimited.plain(content)
    if b"\0" in text:
        raise InvalidInput("The table is not a text file, despite its name; save it as CSV in UTF-8.")
    names = pd.read_csv(io.BytesIO(text), nrows=0, encoding="utf-8-sig").columns
    _check_heading(text)
    as_text = {name: str for name in names if name.strip().casefold() in AS_TEXT}
    frame = pd.read_csv(io.BytesIO(text), dtype=as_text, encoding="utf-8-sig", skipinitialspace=True)
    frame.columns = frame.columns.str.strip()
    frame = _named(frame)
    filled = np.flatnonzero(frame.notna().any(axis=1))
    rows = int(filled[-1]) + 1 if filled.size else len(frame)
    empty = f"{len(frame) - rows:,} empty rows at the end were left out." if rows < len(frame) else ""
    return ReadTable(frame.iloc[:rows], " ".join(filter(None, (said, empty))))


def _check_heading(text: bytes) -> None:
    """Raises `InvalidInput` for rows that are wider than the row of names, two columns of one name, and cells that only
    spaces separate."""
    rows = csv.reader(io.StringIO(text[:delimited.SAMPLE].decode("utf-8-sig", "ignore"), newline=""))
    first, second, *_ = [[cell.strip() for cell in row] for row in islice(filter(None, rows), 2)] + [[], []]
    if len(second) > len(first):
        raise InvalidInput("The rows of the table have more cells than its first row has names; name every column.")
    if len(first) == 1 and 1 < len(first[0].split()) <= len("".join(second).split()):
        raise InvalidInput("The table has one column, whose cells hold several words; put commas, semicolons or tabs "
                           "between its cells.")
    named = [name for name in first if name]
    if twice := next((name for name in named if named.count(name) > 1), None):
        raise InvalidInput(f"The table has two columns `{twice[:60]}`; give each its own name.")


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the numbers of rows that programs write beside an `id`, or twice; a first column without a name is `id`.

    Raises `InvalidInput` for another column without a name that is not empty, as below a title.
    """
    unnamed = [column for column in frame.columns if column.startswith("Unnamed: ") and frame[column].notna().any()]
    counts = [column for column in unnamed if frame[column].dtype.kind in "iu" and (
        frame[column].diff().dropna() == 1).all()]
    if "id" not in frame and "Unnamed: 0" in unnamed:
        return _named(frame.rename(columns={"Unnamed: 0": "id"}))
    if odd := next((column for column in unnamed if column not in counts), None):
        raise InvalidInput(f"Column {frame.columns.get_loc(odd) + 1} of the table has no name; put a row with a name "
                           "for every column right above the data.")
    return frame.drop(columns=counts)


def _json(content: bytes, max_bytes: int) -> ReadTable:
    """Not by pyarrow, whose reader of JSON ends the process where lists nest 20,000 deep (26.0.1)."""
    import pandas as pd

    _check_size(len(content), max_bytes)
    text = in_utf8(content).decode("utf-8-sig")
    rows = parse_json(text, "The table", "write a list of objects") if text.lstrip().startswith("[") else [
        parse_json(line, f"Line {number} of the table", "write one object per line")
        for number, line in enumerate(text.split("\n"), 1) if line and not line.isspace()]
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidInput("Some rows of the table are not objects; write one object per row.")
    if len(rows) == 1 and any(isinstance(value, (list, dict)) for value in rows[0].values()):
        raise InvalidInput("The table is one object; write a list of objects, one per row, for instance with pandas' "
                           "`to_json(orient=\"records\")`.")
    return ReadTable(pd.DataFrame(rows))


READERS: dict[str, Callable[[bytes, int], ReadTable]] = {
    ".parquet": _parquet, ".arrow": _arrow, ".csv": _text, ".tsv": _text, ".jsonl": _json, ".ndjson": _json,
    ".json": _json}
TITLES = {".parquet": "Parquet", ".arrow": "Arrow", ".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSON", ".ndjson": "JSON",
          ".json": "JSON"}
WRITTEN = {".parquet": "to_parquet", ".arrow": "to_feather", ".csv": "to_csv", ".tsv": "to_csv", ".jsonl": "to_json",
           ".ndjson": "to_json", ".json": "to_json"}
