"""What a tooltip shows of a training example besides its numbers: its picture, or its words."""

from __future__ import annotations

import altair as alt
import pandas as pd

PICTURE, WORDS = "image", "words"
"""Columns of a chart's table; the tooltip draws the address in a field of the first name as a picture."""


def of_examples(frame: pd.DataFrame) -> list[alt.Tooltip]:
    """The tooltips of those of the columns that the table of a chart has."""
    titles = {PICTURE: PICTURE, WORDS: "Text"}
    return [alt.Tooltip(f"{column}:N", title=title) for column, title in titles.items() if column in frame]


def held(frame: pd.DataFrame) -> list[str]:
    """The names of those columns."""
    return [column for column in (PICTURE, WORDS) if column in frame]
