"""Tables as CSV that a spreadsheet opens without running anything in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

FORMULA = re.compile(r"[=+\-@\t\n]")
"""What a text starts with that a spreadsheet takes for a formula."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
QUOTE = "'"


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV without its index. A text that a spreadsheet would take for a formula gets an apostrophe before
    it, names of columns too; numbers stay as they are, also where they are written as text."""
    plain = table.copy(deep=False)
    for column, kind in enumerate(plain.dtypes):
        if kind.kind not in "biufcmM":
            plain.isetitem(column, plain.iloc[:, column].map(defused))
    plain.columns = [defused(name) for name in plain.columns]
    return plain.to_csv(index=False, lineterminator="\n")


def as_written(cell: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from computing it."""
    return cell[1:] if cell.startswith(QUOTE) and FORMULA.match(cell, 1) else cell


def defused(value: Any) -> Any:
    """A cell as it is, or, where it is a text that could be a formula, behind an apostrophe. Its lines end with a line
    feed: a carriage return is not quoted in CSV and would begin a row, whose first cell could be a formula."""
    if not isinstance(value, str):
        return value
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    return QUOTE + value if FORMULA.match(value) and not NUMBER.fullmatch(value) else value
