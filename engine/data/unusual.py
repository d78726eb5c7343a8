"""The rows of a table as their file has them, and which of their values are unusual for their label.

A number is unusual by its robust z-score, z = (x − median) / (1.4826 · median |x − median|), over the training rows of
the same label where they are 20 or more, else over all; beyond 3.5 in size, as Iglewicz and Hoaglin (1993) have it.
Where more than half of the values are the same, z is not defined. Another value is rare where at most one row in 50 has
it, unless more than half of the rows have such values, as of identifiers and texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from engine.data import tables, uploads
from engine.data.dataset import Dataset

if TYPE_CHECKING:
    import pandas as pd

LIMIT, ENOUGH, RARE, MOST = 3.5, 20, 0.02, 0.5
Rarity = Mapping[str, float] | None
"""Value -> the fraction of rows that have it; None where most values are rare."""
NORMAL = 1.482602218505602
"""1 / Φ⁻¹(3/4): what makes the median absolute deviation a standard deviation, where the data are normal."""


@dataclass(frozen=True)
class Cell:
    """A value of a row: its column, the value as text, its z-score or NaN, and whether it is unusual."""

    column: str
    value: str
    z: float
    unusual: bool


def rows_of(dataset: Dataset, split: str) -> pd.DataFrame:
    """The columns of all rows of a split, in their order: those of an uploaded table, else the features x0, x1, …"""
    import pandas as pd

    files = dataset.files if split == "train" else dataset.test_files
    if files and uploads.is_upload(dataset.name) and uploads.base(dataset.name).suffix in uploads.TABLES:
        first, *others = uploads.reading(dataset.name).labels
        table = tables.read_table(uploads.base(dataset.name), label=first)
        number = {file: row for row, file in enumerate(table.names)}
        if number.keys() >= set(files):  # new candidates are those of another file
            used = [column for column in table.used if column not in others]
            return table.frame[used].iloc[[number[file] for file in files]].reset_index(drop=True)
    x = dataset.features(split)
    return pd.DataFrame(x, columns=[f"x{index}" for index in range(x.shape[1])])


class Usual:
    """What values are usual in the rows of a frame with labels y (n,), and the cells of rows beside it."""

    def __init__(self, frame: pd.DataFrame, y: np.ndarray) -> None:
        self.frame, self.y = frame, y
        self._of_label: dict[int, tuple[np.ndarray, np.ndarray, dict[str, Rarity]]] = {}

    @cached_property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        return list(self.frame.select_dtypes("number").columns)

    def cells(self, row: pd.Series, label: int) -> list[Cell]:
        """The values of a row with that label, the unusual ones first, else in their order."""
        median, spread, fractions = self._usual(label)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(spread > 0, (row[self.numbers].to_numpy(dtype=float) - median) / spread, np.nan)
        of_numbers = dict(zip(self.numbers, z, strict=True))
        cells = []
        for (column, value), empty in zip(row.items(), row.isna(), strict=True):
            name, out = str(column), float(of_numbers.get(str(column), np.nan))
            if empty:
                cells.append(Cell(name, "empty", np.nan, _rare(fractions[name], "")))
            elif name in of_numbers:
                cells.append(Cell(name, _written(value), out, bool(abs(out) > LIMIT)))
            else:
                cells.append(Cell(name, str(value), np.nan, _rare(fractions[name], str(value))))
        return sorted(cells, key=lambda cell: not cell.unusual)

    def _usual(self, label: int) -> tuple[np.ndarray, np.ndarray, dict[str, Rarity]]:
        """(medians and spreads of the columns of numbers, column -> how rare its values are)."""
        if label not in self._of_label:
            alike = np.flatnonzero(self.y == label)
            among = self.frame.iloc[alike] if len(alike) >= ENOUGH else self.frame
            median, spread = center_and_spread(among[self.numbers].to_numpy(dtype=float))
            fractions: dict[str, Rarity] = {
                name: {"": empty} for name, empty in among[self.numbers].isna().mean().items()}
            for name in among.columns.difference(self.numbers):
                values = among[name].astype(str).where(among[name].notna(), "")
                own = values.value_counts(normalize=True)
                fractions[name] = None if own[own <= RARE].sum() > MOST else own.to_dict()
            self._of_label[label] = median, spread, fractions
        return self._of_label[label]


def _rare(fractions: Rarity, value: str) -> bool:
    return fractions is not None and fractions.get(value, 0.0) <= RARE


def _written(value: float) -> str:
    """Four digits or more, without an exponent where few digits need none."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def center_and_spread(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median and 1.4826 · median |x − median| of every column of x (n, d), of which NaN do not count: (d,), (d,)."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a column without a value
        median = np.nanmedian(x, axis=0)
        return median, NORMAL * np.nanmedian(np.abs(x - median), axis=0)
