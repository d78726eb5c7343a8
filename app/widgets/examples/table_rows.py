"""Rows of a table as they are shown: their columns with their values, the unusual ones first and marked."""

from __future__ import annotations

from functools import lru_cache
from html import escape

import numpy as np
import pandas as pd

from engine.basics.values import signed
from engine.desk.datasets import Cell, Dataset, Usual, rows_of

SHOWN, LONGEST, WIDTH = 5, 24, 144
"""Cells of a card, letters of a value in it, and how wide it is."""


@lru_cache(maxsize=4)
def frame(dataset: Dataset, split: str) -> pd.DataFrame:
    """All rows of a split with the columns that they came with."""
    return rows_of(dataset, split)


@lru_cache(maxsize=2)
def usual(dataset: Dataset) -> Usual:
    """What is usual in the training rows."""
    return Usual(frame(dataset, "train"), dataset.y_train)


def beside(table: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """A table, and right of it the columns of the rows that it is about."""
    taken = {name: f"{name} (column)" for name in own if name in table}
    return pd.concat([table, own.rename(columns=taken).reset_index(drop=True)], axis=1)


def html(dataset: Dataset, split: str, index: int, description: str, shown: int = SHOWN) -> str:
    """A row as a small table."""
    return cells_html(usual(dataset).cells(frame(dataset, split).iloc[index], int(dataset.labels(split)[index])),
                      description, shown)


def cells_html(cells: list[Cell], description: str, shown: int = SHOWN) -> str:
    """The first cells as a small table."""
    rows = "".join(f'<tr class="{"unusual" if cell.unusual else ""}"><th scope="row">{escape(cell.column)}</th>'
                   f'<td title="{escape(out(cell), quote=True)}">{escape(cell.value[:LONGEST])}</td></tr>'
                   for cell in cells[:shown])
    more = f"<tr><td colspan='2'>… {len(cells) - shown} more</td></tr>" if len(cells) > shown else ""
    return f'<table class="wf-features" aria-label="{escape(description, quote=True)}">{rows}{more}</table>'


def out(cell: Cell) -> str:
    """`+4.1`, `rare`, or nothing where neither is defined."""
    if np.isfinite(cell.z):
        return signed(cell.z, 1, "+")
    return "rare" if cell.unusual else ""
