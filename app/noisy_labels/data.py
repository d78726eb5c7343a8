"""What the Noisy labels page asks of the desk: how long its runs take, and the rows of a table as they were brought."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from app.widgets.examples import table_rows
from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from engine.desk.datasets import Usual
from engine.desk.noisy_labels import HeldOutRequest, NoisyData, NoisySource, SuspicionRequest


def search_time(source: NoisySource) -> str:
    """How long the search takes, in words."""
    return guesses.expected(SuspicionRequest(source=source))


def count_time(source: NoisySource) -> str:
    """How long the first list of suspects takes, with the count of wrong labels, in words."""
    return guesses.expected(HeldOutRequest(source=source))


def usual(sample: NoisyData) -> Usual | None:
    """The searched rows of a table with what is usual for their given labels; None of pictures."""
    if sample.dataset.image_shape is not None:
        return None
    return desk().memory.cached(("searched rows", sample.fingerprint), lambda: Usual(
        table_rows.frame(sample.dataset, "train").iloc[sample.rows].reset_index(drop=True), sample.evidence.y))


def beside(table: pd.DataFrame, sample: NoisyData, chosen: Sequence[int]) -> pd.DataFrame:
    """A table about `chosen` rows with what each of them looks like: its column `picture`, or in its place the columns
    of the row."""
    own = usual(sample)
    if own is None:
        return table
    return table_rows.beside(table.drop(columns="picture"), own.frame.iloc[list(chosen)])
