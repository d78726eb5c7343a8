"""A user's own table as Parquet: one example a row, numbers as features, and a column with its label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.basics.errors import InvalidInput, MissingData
from engine.data.archive import MAX_BYTES, megabytes
from engine.data.arrays import HUGE
from engine.data.dataset import Dataset

if TYPE_CHECKING:
    import pandas as pd

LABEL, SPLIT = "label", "split"
NAMES = ("path", "file", "id", "name")
"""Columns that may name an example, the first of them that is there."""
SPLITS = ("train", "test")
DAMAGED = (LookupError, TypeError, AttributeError)
"""What pandas raises where its own notes in a Parquet file are damaged."""
SHARE = 0.25
"""The share that is held out as test split where the table brings none."""


def load_table(path: Path, *, name: str = "table", title: str = "Your table", max_bytes: int = MAX_BYTES) -> Dataset:
    """A table with a column `label` (texts or whole numbers), if it likes `split` (`train` or `test`) and a column of
    `NAMES`; every other column is a feature and holds numbers.

    Features are standardised by mean and standard deviation of the training rows. Without `split`, a quarter is held
    out, stratified by label. Raises `MissingData`, or `InvalidInput` with what to do.
    """
    table = read_table(path, max_bytes)
    labels = [str(label) for label in table[LABEL]]
    classes = tuple(sorted(set(labels)))
    if len(classes) < 2:
        raise InvalidInput(f"All labels of the table are `{classes[0][:60]}`; give two classes or more.")
    y = np.array([classes.index(label) for label in labels], dtype=np.int64)
    x, files = _features(table), row_names(table)
    train, test, drawn = _splits(table, y, classes)
    scale = x[train].std(0)
    x = (x - x[train].mean(0)) / np.where(scale > 0, scale, 1.0)
    return Dataset(
        name=name, title=title, raw_train=x[train], y_train=y[train], raw_test=x[test], y_test=y[test],
        class_names=classes, test_drawn=drawn, files=tuple(files[row] for row in train),
        test_files=tuple(files[row] for row in test), test_origin="" if drawn else "rows with `split` = `test`",
        note=f"{len(train):,} training and {len(test):,} test rows with {x.shape[1]:,} numbers each, standardised.")


def read_table(path: Path, max_bytes: int = MAX_BYTES) -> pd.DataFrame:
    """The rows of a Parquet file that has a label in each. Raises as `load_table` does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise MissingData(f"There is no table `{path}`; check the path.")
    try:
        with pq.ParquetFile(path) as file:
            needed = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
            if max(needed, 8 * file.metadata.num_rows * file.metadata.num_columns) >= max_bytes:
                raise InvalidInput(f"The table unpacks to more than {megabytes(max_bytes)}; give a smaller one.")
            read = file.read()
        read.validate(full=True)  # texts that are no UTF-8 would fail where they are first looked at
        table = read.to_pandas()
    except (pa.ArrowException, OSError, ValueError, *DAMAGED):
        raise InvalidInput("The table cannot be read as Parquet; save it again, for instance with pandas' "
                           "`to_parquet`.") from None
    if not table.columns.is_unique:
        twice = str(table.columns[table.columns.duplicated()][0])
        raise InvalidInput(f"The table has two columns `{twice[:60]}`; give each a name of its own.")
    if LABEL not in table.columns:
        raise InvalidInput(f"The table has no column `{LABEL}`; name the column with the labels so.")
    if table[LABEL].isna().any() or not len(table):
        raise InvalidInput(f"The column `{LABEL}` is empty in {int(table[LABEL].isna().sum()):,} of {len(table):,} "
                           "rows; fill it in every row, or leave those rows out.")
    return table


def row_names(table: pd.DataFrame) -> tuple[str, ...]:
    """The name of every row: that of a column of `NAMES`, else its number. Raises `InvalidInput` for two alike."""
    column = next((one for one in NAMES if one in table.columns), None)
    if column is None:
        return tuple(f"row {row}" for row in range(len(table)))
    names = tuple(str(value) for value in table[column])
    if len(set(names)) < len(names):
        raise InvalidInput(f"The column `{column}` names two rows alike; give every row a name of its own.")
    return names


def _features(table: pd.DataFrame) -> np.ndarray:
    """(n, d) float64. Raises `InvalidInput` for a column that is no number, or holds none in some row."""
    column = next((one for one in NAMES if one in table.columns), None)
    kept = [one for one in table.columns if one not in (LABEL, SPLIT, column)]
    if not kept:
        raise InvalidInput("The table has no features; give columns of numbers beside the label.")
    if other := [one for one in kept if table[one].dtype.kind not in "biuf"]:
        raise InvalidInput(f"The column `{str(other[0])[:60]}` is not of numbers; leave it out, or name it `path` "
                           "where it says which example a row is.")
    x = table[kept].to_numpy(dtype=np.float64)
    if not (np.abs(x) <= HUGE).all():
        row = int(np.argmin((np.abs(x) <= HUGE).all(axis=1)))
        raise InvalidInput(f"The table has an empty, infinite or huge number in row {row:,}; fill or remove it.")
    return x


def _splits(table: pd.DataFrame, y: np.ndarray, classes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, bool]:
    """(training rows, test rows, whether the test rows were drawn)."""
    from sklearn.model_selection import train_test_split

    if SPLIT in table.columns:
        split = np.array([str(value) for value in table[SPLIT]])
        if set(split) - set(SPLITS):
            raise InvalidInput(f"The column `{SPLIT}` says `{sorted(set(split) - set(SPLITS))[0][:40]}`; use `train` "
                               "and `test` only.")
        train, test = np.flatnonzero(split == "train"), np.flatnonzero(split == "test")
        if missing := sorted(set(range(len(classes))) - set(y[train].tolist())):
            raise InvalidInput(f"The class `{classes[missing[0]]}` has no training row; add one, or leave it out.")
        if len(test):
            return train, test, False
    counts = np.bincount(y)
    if counts.min() < 2:
        raise InvalidInput(f"The class `{classes[int(counts.argmin())]}` has a single row; add more, or leave it out.")
    held = max(len(classes), round(SHARE * len(y)))
    train, test = train_test_split(np.arange(len(y)), test_size=held, stratify=y, random_state=0)
    return train, test, True
