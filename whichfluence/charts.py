"""The pages' charts outside of a page: the same marks, in the light theme's colours."""

from __future__ import annotations

from typing import TypeVar

import altair as alt

from app.charts.palette import DIVERGING, SEQUENTIAL, theme

CATEGORICAL = "chartCategoricalColors"
T = TypeVar("T", bound=alt.TopLevelMixin)


def themed(chart: T) -> T:
    """The chart with the colours that Streamlit gives it on a page."""
    colours = theme("light")
    return chart.configure_range(category=colours[CATEGORICAL], diverging=colours[DIVERGING],
                                 ramp=colours[SEQUENTIAL], ordinal=colours[SEQUENTIAL])
