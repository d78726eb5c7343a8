"""Tables of scores in CSV and parquet: wide, or a long list with the columns query, candidate and score."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

import numpy as np
import pandas as pd
import pyarrow
from pyarrow import parquet

from engine.basics.delimited import plain
from engine.basics.errors import InvalidInput
from engine.external import budgets
from engine.external.header_row import NAMES, Numbering, is_number, judge, said
from engine.external.names import by_ids, in_file_order, numbered, required
from engine.external.table import Table, Wanted

LONG = {"query": ("query", "query_index", "query_idx", "query_id", "test", "test_index", "test_idx", "test_id"),
        "candidate": ("candidate", "candidate_index", "candidate_idx", "candidate_id", "train", "train_index",
                      "train_idx", "train_id", "example", "index"),
        "score": ("score", "scores", "influence", "value", "attribution")}
INDEX = ("index", "id", "record")
"""What else the first column of a wide table is called where it names the rows."""
AT_ONCE = 4_000_000
"""Cells of a CSV that are read before it is looked at whether they are numbers."""
LEAST_ROWS = 64
"""Of a CSV that are read at once, however wide it is: each column costs time whenever rows are read."""
FIRST_BYTES = 8_000_000
"""Of a CSV, by which its first rows are judged: more than the names of as many columns as are read take."""
MISSING = frozenset(["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>",
                     "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"])
"""How cells of a CSV say that they have no value."""


def read_parquet(content: bytes, wanted: Wanted) -> Table:
    """The table of a parquet file; only numbers are decoded, and text as a list of the distinct texts."""
    file = parquet.ParquetFile(io.BytesIO(content))
    described = file.metadata
    budgets.check_columns(described.num_columns)
    budgets.check_values(described.num_rows * described.num_columns)
    groups = [described.row_group(group) for group in range(described.num_row_groups)]
    budgets.check_bytes(sum(group.total_byte_size for group in groups), "The parquet file unpacks to")
    texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
    odd = next((field for field in file.schema_arrow if not _is_number(field.type) and not _is_text(field.type)), None)
    if odd is not None:
        raise InvalidInput(_not_numbers(odd.name))
    read = parquet.read_table(io.BytesIO(content), read_dictionary=texts)
    read.validate(full=True)  # texts that are no UTF-8 would fail where they are first looked at
    return _frame(read.to_pandas(), wanted.known)


def read_csv(content: bytes, wanted: Wanted) -> Table:
    """The table of a CSV of any dialect, its first row judged or said to be names.

    What its first row and the rows after it show is refused before the rest of the file is looked at.
    """
    content, how = plain(content)
    budgets.check_columns(content.count(b",", 0, content.find(b"\n") + 1 or len(content)) + 1)
    begun = _first_rows(content)
    first = next(begun, [])
    judged = said(wanted.first_row, judge(first, 1, wanted.known))
    if judged.kind == NAMES:
        _check_numbers([name or f"Unnamed: {column}" for column, name in enumerate(first)], begun)
    else:
        _check_numbers(range(len(first)), chain([first], begun))
    budgets.check_values(content.count(b",") + content.count(b"\n") + 1)
    rows = _check_rows(content) - 1
    read = said(wanted.first_row, judge(first, rows, wanted.known))
    frame = _read_rows(content, 0 if read.kind == NAMES else None, max(LEAST_ROWS, AT_ONCE // max(1, len(first))))
    table = _frame(frame, wanted.known)
    return replace(table, first_row=read, remark=" ".join(filter(None, (how, table.remark))))


def _first_rows(content: bytes) -> Iterator[list[str]]:
    """The rows at the beginning; of one that goes on beyond `FIRST_BYTES` its first cells."""
    head = content[:FIRST_BYTES]
    if len(content) > FIRST_BYTES:  # a cell cut in two may be text where the whole is a number
        head = head[:max(head.rfind(b","), head.rfind(b"\n")) + 1] or head
    return (row for row in csv.reader(io.StringIO(head.decode("utf-8-sig", errors="ignore"), newline="")) if row)


def _check_numbers(names: Sequence[Hashable], rows: Iterable[list[str]]) -> None:
    """Raises `InvalidInput` where one of the first rows of a wide table holds text. A table of nothing but text would
    take minutes, and many times the memory of numbers, before the whole shows it."""
    if _long_columns(names) is not None:
        return
    keys = 1 + _names_rows(names[0]) if names else 0  # cells that may name the row, below a name and below none
    for row in islice(rows, LEAST_ROWS):
        unnamed = max(0, len(row) - len(names))
        for column in range(max(keys, unnamed), len(row)):
            if row[column] not in MISSING and not is_number(row[column]):
                raise InvalidInput(_not_numbers(names[column - unnamed]))


def _read_rows(content: bytes, header: int | None, at_once: int) -> pd.DataFrame:
    """All rows. Text takes many times the memory of numbers: a wide table that holds any is refused at the first."""
    parts = []
    with pd.read_csv(io.BytesIO(content), header=header, encoding="utf-8-sig", chunksize=at_once, na_values=MISSING,
                     keep_default_na=False, low_memory=False) as reader:
        for part in reader:
            if _long_columns(part.columns) is None:
                _check_columns(_by_row(part))
            parts.append(part)
    return pd.concat(parts)


def _check_rows(content: bytes) -> int:
    """How many rows there are. Raises `InvalidInput` where one has fewer cells than the others, whose values would be
    taken for missing; the first, of names, may lack the cell above the names of the rows."""
    lines = (line for line in io.BytesIO(content) if line.strip())
    widths = [line.count(b",") + 1 for line in lines] if b'"' not in content else [
        len(row) for row in csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")) if row]
    cells = max(widths[1:], default=0)
    odd = next((row for row, width in enumerate(widths[1:], 1) if width != cells), None)
    if odd is None and widths and cells and widths[0] not in (cells, cells - 1):
        odd = 0
    if odd is not None:
        raise InvalidInput(f"Row {odd + 1:,} of the file has {widths[odd]:,} cells and others have {cells:,}; give "
                           "every row the same number.")
    return len(widths)


def _is_number(kind: pyarrow.DataType) -> bool:
    return any(of(kind) for of in (pyarrow.types.is_integer, pyarrow.types.is_floating, pyarrow.types.is_decimal))


def _is_text(kind: pyarrow.DataType) -> bool:
    if pyarrow.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(of(kind) for of in (pyarrow.types.is_string, pyarrow.types.is_large_string))


def _frame(frame: pd.DataFrame, known: Numbering | None) -> Table:
    """A wide table, or a long list of query, candidate and score."""
    if (long := _long_columns(frame.columns)) is not None:
        return _pivoted(frame, known, *long)
    if not len(frame.columns):
        raise InvalidInput("The file contains no table of numbers; save the scores as (queries, candidates).")
    frame = _by_row(frame)
    _check_columns(frame)
    by_row = not isinstance(frame.index, pd.RangeIndex)
    rows, of_rows = _names(frame.index, "rows", known) if by_row else (None, "")
    named, of_columns = _names(frame.columns, "columns", known)
    return Table(frame.to_numpy(dtype=np.float64), candidates=named, rows=rows,
                 remark=" ".join(sentence for sentence in (of_rows, of_columns) if sentence))


def _long_columns(names: Iterable[Hashable]) -> tuple[Hashable, Hashable, Hashable] | None:
    """Which columns of a long list hold query, candidate and score; None for a wide table."""
    columns = {str(name).strip().lower(): name for name in names}
    query, candidate, score = (next((columns[name] for name in LONG[part] if name in columns), None)
                               for part in ("query", "candidate", "score"))
    return None if query is None or candidate is None or score is None else (query, candidate, score)


def _by_row(frame: pd.DataFrame) -> pd.DataFrame:
    """A wide table by the names of its rows, where its first column holds them."""
    if len(frame.columns) < 2:
        return frame
    return frame.set_index(frame.columns[0]) if _names_rows(frame.columns[0]) else frame


def _names_rows(first: Hashable) -> bool:
    """Whether the first column of a wide table, by its name, holds the names of the rows."""
    name = str(first).strip().lower()
    return name in ("", *LONG["query"], *LONG["candidate"], *INDEX) or name.startswith("unnamed")


def _names(names: pd.Index, what: str, known: Numbering | None) -> tuple[np.ndarray | None, str]:
    """(numbers that name something, None for 0, 1, 2, … and for text; a sentence on names that are no numbers)."""
    numbers = numbered(names)
    if numbers is not None:
        return (None if np.array_equal(numbers, np.arange(len(numbers))) else numbers), ""
    matched = known.numbers(names, what) if known else None
    return (None, in_file_order(names, what)) if matched is None else (matched, by_ids(what))


def _check_columns(frame: pd.DataFrame) -> None:
    """Raises `InvalidInput` for a column that does not hold numbers."""
    column = next((name for name, kind in frame.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)
                   or pd.api.types.is_bool_dtype(kind) or pd.api.types.is_complex_dtype(kind)), None)
    if column is not None:
        raise InvalidInput(_not_numbers(column))


def _not_numbers(column: object) -> str:
    return (f"The column `{str(column)[:40]}` does not hold numbers; give one column per training example, or the "
            "columns query, candidate and score.")


def _pivoted(frame: pd.DataFrame, known: Numbering | None, query: Hashable, candidate: Hashable,
             score: Hashable) -> Table:
    """The long list as (queries, candidates), both in the order of their numbers. Nothing of that size is made
    before the list is known to be complete."""
    by_query, queries = _distinct(frame[query])
    by_candidate, candidates = _distinct(frame[candidate])
    budgets.check_values(len(queries) * len(candidates))
    at = by_query * len(candidates) + by_candidate
    if len(np.unique(at)) < len(at):
        raise InvalidInput("The list has two scores for the same query and candidate; keep one of them.")
    if len(at) < len(queries) * len(candidates):
        raise InvalidInput("The list has no score for some pairs of query and candidate; give every pair once.")
    _check_columns(frame[[score]])
    query_numbers = _listed(queries, known, "the query", "number the queries by their rows of `x_query`, from 0")
    candidate_numbers = _listed(candidates, known, "the training example",
                                "number the training examples by their rows of `x_train`, from 0")
    values = filled(at, frame[score]).reshape(len(queries), len(candidates))
    values = values[query_numbers.argsort()][:, candidate_numbers.argsort()]
    return Table(values, candidates=np.sort(candidate_numbers), rows=np.sort(query_numbers))


def filled(positions: np.ndarray, values: pd.Series) -> np.ndarray:
    """A flat table that holds `values` at `positions`, each of them once; float64."""
    table = np.empty(len(positions))
    table[positions] = values.to_numpy(dtype=np.float64)
    return table


def _distinct(names: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """(which of the distinct names each row has, the distinct names)."""
    codes, distinct = pd.factorize(names, use_na_sentinel=False)
    return codes.astype(np.int64), np.asarray(distinct)


def _listed(names: np.ndarray, known: Numbering | None, what: str, remedy: str) -> np.ndarray:
    """The numbers of a long list's names."""
    numbers = known.numbers(names, f"{what.removeprefix('the ')}s") if known and numbered(names) is None else None
    return required(names, what, remedy) if numbers is None else numbers
