"""A user's own table whose labels are numbers, in one column or several, for a loss of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.archive import MAX_BYTES
from engine.data.arrays import as_rows, spelled
from engine.data.dataset import Dataset
from engine.data.embeddings import Embeddings
from engine.data.split_names import TRAIN, split_of
from engine.data.tables import FRACTION, LabelledTable, inputs, read_table

if TYPE_CHECKING:
    import pandas as pd


def load_targets(path: Path, *, name: str = "table", title: str = "Your table", max_bytes: int = MAX_BYTES,
                 label: str = "", embeddings: Embeddings | None = None) -> Dataset:
    """As `load_table`, with targets in place of labels. label: their columns, with commas between them, by default
    the one that a table's labels would be; targets are (r,) of one column, (r, c) of several.

    Without a column `split`, a quarter of the rows is held out at random. Raises `MissingData`, or `InvalidInput`.
    """
    first, *others = [one.strip() for one in label.split(",")]
    table = read_table(path, max_bytes, first)
    wanted = [table.label, *others]
    if unknown := [one for one in others if one not in table.frame]:
        raise InvalidInput(f"The table has no column `{unknown[0][:60]}`; name columns that hold targets.")
    values = np.stack([_numbers(table.frame, column) for column in wanted], 1)
    train, test, origin = _splits(table)
    target = values if others else values[:, 0]
    y_train, y_test, targets = as_rows(target[train], target[test])
    files, used = table.names, [one for one in table.used if one not in wanted]
    read, how = inputs(table, used, train, embeddings, max_bytes)
    named = " and ".join(f"`{one[:60]}`" for one in wanted)
    return Dataset(
        name=name, title=title, raw_train=read.x[train], y_train=y_train, raw_test=read.x[test], y_test=y_test,
        class_names=spelled(targets), targets=targets, test_from_train=not origin,
        files=tuple(files[row] for row in train), test_files=tuple(files[row] for row in test), test_origin=origin,
        said=(f"The targets are the column{'s' if others else ''} {named}.", *how),
        note=f"{len(train):,} training and {len(test):,} test rows with {read.x.shape[1]:,} numbers each, "
        "standardised; their targets are used as they are.")


def _numbers(frame: pd.DataFrame, column: str) -> np.ndarray:
    """A column as float64 (n,)."""
    import pandas as pd

    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(np.float64, na_value=np.nan)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InvalidInput(f"The column `{column[:60]}` holds `{str(frame[column].iloc[row])[:40]}` in row {row:,}; "
                           "give a finite number in every row, or choose other columns.")
    return values


def _splits(table: LabelledTable) -> tuple[np.ndarray, np.ndarray, str]:
    """(training rows, test rows, whence the latter are, empty where they were held out)."""
    if table.split is None:
        shuffled, held = np.random.default_rng(0).permutation(len(table.frame)), round(FRACTION * len(table.frame))
        if not held:
            raise InvalidInput(f"The table has {len(table.frame)} rows, too few to hold queries out; give more, or a "
                               "column `split`.")
        return np.sort(shuffled[held:]), np.sort(shuffled[:held]), ""
    split = np.array([split_of(value) or "" for value in table.frame[table.split]])
    if "" in split or len(set(split)) < 2 or TRAIN not in split:
        raise InvalidInput(f"The column `{table.split[:60]}` must say `train`, and `val` or `test`, in every row; "
                           "correct it, or rename it.")
    return np.flatnonzero(split == TRAIN), np.flatnonzero(split != TRAIN), "rows whose `split` is not `train`"
