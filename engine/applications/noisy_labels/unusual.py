"""The searched rows of a table as they were brought, and which of their values are unusual for their given label.

A number is unusual by its robust z-score, z = (x − median) / (1.4826 · median |x − median|), over the rows of the same
given label where they are 20 or more, else over all; beyond 3.5 in size, as Iglewicz and Hoaglin (1993) have it. Where
more than half of the values are the same, z is not defined. Another value is rare where at most one row in 50 has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.source import NoisyData
from engine.data import tables, uploads

LIMIT, ENOUGH, RARE = 3.5, 20, 0.02
NORMAL = 1.482602218505602
"""1 / Φ⁻¹(3/4): what makes the median absolute deviation a standard deviation, where the data are normal."""


@dataclass(frozen=True)
class Cell:
    """A value of a row: its column, the value as text, its z-score or NaN, and whether it is unusual."""

    column: str
    value: str
    z: float
    unusual: bool


def rows_of(noisy: NoisyData) -> pd.DataFrame:
    """The columns of the searched rows, in their order: those of the table that was brought, else the features."""
    name, dataset = noisy.source.dataset, noisy.dataset
    if noisy.source.is_own and uploads.base(name).suffix in uploads.TABLES:
        table = tables.read_table(uploads.base(name), label=uploads.reading(name).label)
        number = {file: row for row, file in enumerate(table.names)}
        return table.frame[table.used].iloc[[number[dataset.files[row]] for row in noisy.rows]].reset_index(drop=True)
    x = dataset.features("train", noisy.rows)
    return pd.DataFrame(x, columns=[f"x{index}" for index in range(x.shape[1])])


def cells(frame: pd.DataFrame, y: np.ndarray, row: int) -> list[Cell]:
    """The values of a row, the unusual ones first, else in their order. y (n,): the given labels."""
    alike = np.flatnonzero(y == y[row])
    among = alike if len(alike) >= ENOUGH else np.arange(len(y))
    row_cells = [_cell(frame[column], among, row) for column in frame.columns]
    return sorted(row_cells, key=lambda cell: not cell.unusual)


def _cell(values: pd.Series, among: np.ndarray, row: int) -> Cell:
    value, name = values.iloc[row], str(values.name)
    if pd.isna(value):
        return Cell(name, "empty", float("nan"), bool(values.iloc[among].isna().mean() <= RARE))
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return Cell(name, str(value), float("nan"), bool((values.iloc[among] == value).mean() <= RARE))
    z = robust_z(float(value), values.iloc[among].to_numpy(dtype=float))
    return Cell(name, f"{value:.4g}", z, bool(abs(z) > LIMIT))


def robust_z(value: float, among: np.ndarray) -> float:
    """z of a value among others (m,), of which NaN ones do not count; NaN where it is not defined."""
    median = np.nanmedian(among)
    spread = NORMAL * np.nanmedian(np.abs(among - median))
    return float((value - median) / spread) if spread > 0 else float("nan")
