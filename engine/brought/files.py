"""Score arrays from files of other programs: npy, npz, safetensors, parquet and CSV, never unpickled.

A file holds a table of scores, one row a query and one column a training example or the other way round, or (parquet
and CSV) a long list with the columns query, candidate and score.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
import pandas as pd
import pyarrow
from pyarrow import parquet
from safetensors import SafetensorError
from safetensors.numpy import load as load_safetensors

from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole
from engine.brought.header_row import AUTO, CHOICES, NAMES, SCORES, FirstRow, Numbering, judge, said
from engine.brought.names import by_ids, in_file_order, numbered, required
from engine.data.archive import FAULTS, megabytes, open_zip

MOST_BYTES = 500_000_000
MOST_VALUES = MOST_BYTES // 4
"""Of a table: what a file of the largest size holds as float32, and a gigabyte once it is read."""
LONG = {"query": ("query", "query_index", "test", "test_index"),
        "candidate": ("candidate", "train", "train_index", "example", "index"),
        "score": ("score", "scores", "influence", "value", "attribution")}
INDEX = ("index", "id", "record")
"""What else the first column of a wide table is called where it names the rows."""
PREFERRED = ("scores", "all_modules")
"""What the array is called in our own files, and in kronfluence's."""


@dataclass(frozen=True, eq=False)
class Table:
    """values (r, c) float64 as they stand in the file; name: of the array, where the file names it.

    candidates: the training examples the columns (or rows) are named by, where the file names them; rows: what the
    rows are named by, where that is a number or a record's id. first_row: how the first row of a CSV was read.
    remark: a sentence on names that play no part, or are ids.
    """

    values: np.ndarray
    name: str = ""
    candidates: np.ndarray | None = None
    first_row: FirstRow = FirstRow(SCORES)
    rows: np.ndarray | None = None
    remark: str = ""


@dataclass(frozen=True)
class Wanted:
    """What of a file is meant. key: which array, where it holds several; first_row: what the first row of a CSV is,
    `auto` to judge by what the table is for (known)."""

    key: str = ""
    first_row: str = AUTO
    known: Numbering | None = None


def read_table(source: str | Path | BinaryIO, filename: str = "", key: str = "", first_row: str = AUTO,
               known: Numbering | None = None) -> Table:
    """The table in a file of a kind that its name says; `Wanted` says what the rest means.

    Raises `MissingData` where there is no such file; `InvalidInput` for another kind of file, one that is too large
    or damaged, Python objects, more than two axes, or text where numbers should stand.
    """
    filename = filename or str(source)
    reader = READERS.get(Path(filename).suffix.lower())
    if reader is None:
        raise InvalidInput(f"`{Path(filename).name}` is of no kind that holds scores here; give "
                           f"{', '.join(READERS)}.")
    if first_row not in (AUTO, *CHOICES):
        raise InvalidInput(f"The first row is said to be `{first_row[:40]}`; say {', '.join(CHOICES)} or {AUTO}.")
    table = reader(_content(source), Wanted(key, first_row, known))
    if table.values.ndim == 1:
        table = replace(table, values=table.values[None])
    if table.values.ndim != 2 or table.values.size == 0:
        raise InvalidInput(f"The scores have shape {table.values.shape}; give a table of queries and training "
                           "examples.")
    return table


def _content(source: str | Path | BinaryIO) -> bytes:
    too_large = f"The file has more than {megabytes(MOST_BYTES)}; save the scores as float32, or fewer."
    if isinstance(source, str | Path):
        return read_whole(Path(source), "file", MOST_BYTES, too_large)
    content = source.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InvalidInput(too_large)
    return content


def _npy(content: bytes, wanted: Wanted) -> Table:
    if not content.startswith(np.lib.format.MAGIC_PREFIX):
        raise _unreadable(ValueError())
    try:
        _check_header(io.BytesIO(content))
        return Table(_numbers(np.load(io.BytesIO(content), allow_pickle=False)))
    except (*FAULTS, ValueError) as error:
        raise _unreadable(error) from None


def _npz(content: bytes, wanted: Wanted) -> Table:
    archive = open_zip(io.BytesIO(content), "npz file", MOST_BYTES)
    try:
        with archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    _check_header(file)
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            shapes = {name: arrays[name] for name in arrays.files if arrays[name].dtype.kind in "biuf"}
    except (*FAULTS, ValueError) as error:
        raise _unreadable(error) from None
    name = _pick(shapes, wanted.key)
    return Table(_numbers(shapes[name]), name, _named(shapes.get("candidates")))


def _safetensors(content: bytes, wanted: Wanted) -> Table:
    try:
        arrays = load_safetensors(content)
    except (SafetensorError, ValueError, TypeError) as error:
        raise _unreadable(error) from None
    name = _pick(arrays, wanted.key)
    return Table(_numbers(arrays[name]), name)


def _parquet(content: bytes, wanted: Wanted) -> Table:
    try:
        described = parquet.read_metadata(io.BytesIO(content))
        _check_size(described.num_rows * described.num_columns)
        frame = parquet.read_table(io.BytesIO(content)).to_pandas()
    except (pyarrow.ArrowException, ValueError, OSError) as error:
        raise _unreadable(error) from None
    return _frame(frame, wanted.known)


def _csv(content: bytes, wanted: Wanted) -> Table:
    _check_size(content.count(b",") + content.count(b"\n") + 1)
    try:
        first = next(csv.reader(io.StringIO(content[:1_000_000].decode("utf-8-sig", errors="ignore"))), [])
        rows = sum(1 for line in content.splitlines() if line.strip()) - 1
        read = said(wanted.first_row, judge(first, rows, wanted.known))
        frame = pd.read_csv(io.BytesIO(content), header=0 if read.kind == NAMES else None, encoding="utf-8-sig")
    except (ValueError, pd.errors.ParserError) as error:
        raise _unreadable(error) from None
    return replace(_frame(frame, wanted.known), first_row=read)


def _frame(frame: pd.DataFrame, known: Numbering | None) -> Table:
    """A wide table, or a long list of query, candidate and score."""
    columns = {str(name).strip().lower(): name for name in frame.columns}
    long = {part: next((columns[name] for name in names if name in columns), None) for part, names in LONG.items()}
    if all(name is not None for name in long.values()):
        return _pivoted(frame, known, *(long[part] for part in ("query", "candidate", "score")))
    first = str(frame.columns[0]).strip().lower()
    if len(frame.columns) > 1 and (first in ("", *LONG["query"], *INDEX) or first.startswith("unnamed")):
        frame = frame.set_index(frame.columns[0])
    _check_columns(frame)
    by_row = not isinstance(frame.index, pd.RangeIndex)
    rows, of_rows = _names(frame.index, "rows", known) if by_row else (None, "")
    named, of_columns = _names(frame.columns, "columns", known)
    return Table(frame.to_numpy(dtype=np.float64), candidates=named, rows=rows,
                 remark=" ".join(told for told in (of_rows, of_columns) if told))


def _names(names: pd.Index, what: str, known: Numbering | None) -> tuple[np.ndarray | None, str]:
    """(numbers that name something, None for 0, 1, 2, … and for text; a sentence on names that are no numbers)."""
    found = numbered(names)
    if found is not None:
        return (None if np.array_equal(found, np.arange(len(found))) else found), ""
    matched = known.numbers(names, what) if known else None
    return (None, in_file_order(names, what)) if matched is None else (matched, by_ids(what))


def _check_columns(frame: pd.DataFrame) -> None:
    """Raises `InvalidInput` for a column that does not hold numbers."""
    if any(not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind) for kind in frame.dtypes):
        column = next(name for name, kind in frame.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)
                      or pd.api.types.is_bool_dtype(kind))
        raise InvalidInput(f"The column `{column}` does not hold numbers; give one column a training example, or the "
                           "columns query, candidate and score.")


def _pivoted(frame: pd.DataFrame, known: Numbering | None, query: Hashable, candidate: Hashable,
             score: Hashable) -> Table:
    if frame.duplicated([query, candidate]).any():
        raise InvalidInput("The list has a score for the same query and candidate twice; keep one of them.")
    _check_size(frame[query].nunique() * frame[candidate].nunique())
    asked = _listed(frame[query].unique(), known, "the query", "number the queries by their rows of `x_query`, from 0")
    named = _listed(frame[candidate].unique(), known, "the training example",
                    "number the training examples by their rows of `x_train`, from 0")
    try:
        wide = frame.pivot(index=query, columns=candidate, values=score)
        wide = wide.loc[frame[query].unique()[asked.argsort()], frame[candidate].unique()[named.argsort()]]
        values = wide.to_numpy(dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise _unreadable(error) from None
    if frame[score].notna().all() and np.isnan(values).any():
        raise InvalidInput("The list has no score for some pairs of query and candidate; give every pair once.")
    return Table(values, candidates=np.sort(named), rows=np.sort(asked))


def _listed(names: np.ndarray, known: Numbering | None, what: str, remedy: str) -> np.ndarray:
    """The numbers of a long list's names."""
    found = known.numbers(names, f"{what.removeprefix('the ')}s") if known and numbered(names) is None else None
    return required(names, what, remedy) if found is None else found


def _named(candidates: np.ndarray | None) -> np.ndarray | None:
    if candidates is None or np.asarray(candidates).dtype.kind not in "iu":
        return None
    return np.asarray(candidates, dtype=np.int64)


def _pick(arrays: dict[str, np.ndarray], key: str) -> str:
    """The array that is asked for, or the one that can be meant."""
    tables = {name: array for name, array in arrays.items() if array.ndim == 2}
    if key:
        if key not in arrays:
            raise InvalidInput(f"The file has no array `{key[:60]}`; it holds "
                               f"{', '.join(f'`{name}`' for name in arrays) or 'none of numbers'}.")
        return key
    preferred = [name for name in PREFERRED if name in tables]
    if preferred or len(tables) == 1:
        return (preferred or list(tables))[0]
    if not tables:
        raise InvalidInput("The file holds no table of numbers; save the scores as (queries, candidates).")
    raise InvalidInput(f"The file holds several tables, {', '.join(f'`{name}`' for name in tables)}; say which one "
                       "with its name.")


def _check_header(file: IO[bytes]) -> None:
    """Of an npy file, before its array is made. Raises `InvalidInput` for one too large, `ValueError` for a damaged
    one."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file)
    if not kind.hasobject:  # refused in words of its own
        _check_size(math.prod(shape))


def _check_size(values: int) -> None:
    if values > MOST_VALUES:
        raise InvalidInput(f"The table has {values:,} values, and at most {MOST_VALUES:,} are read; give fewer queries "
                           "or training examples.")


def _numbers(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise InvalidInput(f"The scores have the type {array.dtype}; save them as numbers.")
    _check_size(array.size)
    return array.astype(np.float64)


def _unreadable(error: Exception) -> InvalidInput:
    if isinstance(error, InvalidInput):
        return error
    if "allow_pickle" in str(error):
        return InvalidInput("The file holds Python objects, which are never unpickled; save the scores as numbers.")
    return InvalidInput("The file cannot be read as its name says: it is damaged, or of another kind; save it again.")


READERS: dict[str, Callable[[bytes, Wanted], Table]] = {
    ".npy": _npy, ".npz": _npz, ".safetensors": _safetensors, ".parquet": _parquet, ".csv": _csv}
