"""A table of scores as it stands in a file, and what of a file is meant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.external.header_row import AUTO, SCORES, FirstRow, Numbering


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
    `auto` to judge by what the table is for (known). by_module: whether several arrays are parts of one, as
    kronfluence names their file."""

    key: str = ""
    first_row: str = AUTO
    known: Numbering | None = None
    by_module: bool = False
