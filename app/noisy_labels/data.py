"""What the Noisy labels page asks of the desk: how long its runs take, and the rows of a table as they were brought."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from engine.basics.values import figures
from engine.desk.noisy_labels import HeldOutRequest, NoisyData, NoisySource, SuspicionRequest, rows_of

LONGEST = 24
"""Letters of a value in a card."""


def search_time(source: NoisySource) -> str:
    """How long the search takes, in words."""
    return guesses.expected(SuspicionRequest(source=source))


def count_time(source: NoisySource) -> str:
    """How long the first list of suspects takes, with the count of wrong labels, in words."""
    return guesses.expected(HeldOutRequest(source=source))


def rows(sample: NoisyData) -> pd.DataFrame | None:
    """The searched rows of a table as they were brought; None of pictures."""
    if sample.dataset.image_shape is not None:
        return None
    return desk().memory.cached(("table rows", sample.fingerprint), lambda: rows_of(sample))


def beside(table: pd.DataFrame, sample: NoisyData, chosen: Sequence[int]) -> pd.DataFrame:
    """A table about `chosen` rows with what each of them looks like: its column `picture`, or in its place the columns
    of the row."""
    own = rows(sample)
    if own is None:
        return table
    shown = own.iloc[list(chosen)].reset_index(drop=True)
    taken = {name: f"{name} (column)" for name in shown if name in table}
    return pd.concat([table.drop(columns="picture"), shown.rename(columns=taken)], axis=1)


def cells(sample: NoisyData, split: str, index: int) -> list[tuple[str, str]] | None:
    """(column, value as text) of a row of a split, where it is one of the searched rows of a table; else None."""
    own = rows(sample)
    if own is None or split != "train" or index not in sample.rows:
        return None
    row = own.iloc[int((sample.rows == index).argmax())]
    return [(str(column), _text(value)) for column, value in row.items()]


def _text(value: object) -> str:
    if isinstance(value, float):
        return "empty" if value != value else figures(value)
    return "empty" if value is None else str(value)[:LONGEST]
