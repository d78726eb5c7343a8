"""The factors of one score: a signal a class as bars, and the kernel between them as a square of classes."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from app.charts import by_row, figure, ink
from app.charts.swatches import swatches

FIT, ROW, HEIGHT = 12, 20, 240
"""Classes whose names are written, pixels of each of them, and of more than those together."""


def signal(bars: pd.DataFrame, title: str) -> alt.LayerChart:
    """bars: class, value; one bar a class, in the order of the classes."""
    classes = list(bars["class"])
    base = alt.Chart(bars).encode(y=alt.Y("class:N", title=None, sort=classes, axis=alt.Axis(
        labels=len(classes) <= FIT, ticks=False, domain=False, labelLimit=90, labelOverlap=False)))
    rects = base.mark_bar().encode(
        x=alt.X("value:Q", title=title, axis=alt.Axis(tickCount=3, format="~r")),
        tooltip=[alt.Tooltip("class:N", title="Class"), alt.Tooltip("value:Q", title=title, format="+.4g")])
    zero = alt.Chart(pd.DataFrame({"value": [0.0]})).mark_rule(strokeWidth=1, tooltip=None).encode(x="value:Q")
    return alt.layer(ink.paint(rects, ink.ACCENT), ink.paint(zero, ink.QUIET)).resolve_scale(
        color="independent").properties(**_high(classes))


def _high(classes: list[str]) -> dict[str, Any]:
    """By the row, so that legends and labels do not press the chart together."""
    return by_row.high(len(classes), ROW if len(classes) <= FIT else max(1, HEIGHT // len(classes)))


def kernel(cells: pd.DataFrame) -> alt.Chart:
    """cells: query_class, example_class, value; colours diverge from zero."""
    classes, largest = list(dict.fromkeys(cells["query_class"])), float(cells["value"].abs().max()) or 1.0
    few = len(classes) <= FIT
    return alt.Chart(cells).mark_rect().encode(
        x=alt.X("example_class:N", title="logits of the example", sort=classes,
                axis=alt.Axis(labels=few, labelAngle=-45, ticks=False, domain=False, labelLimit=70,
                              labelOverlap=False)),
        y=alt.Y("query_class:N", title="logits of the query", sort=classes,
                axis=alt.Axis(labels=few, ticks=False, domain=False, labelLimit=90, labelOverlap=False)),
        color=alt.Color("value:Q", title="kernel", scale=alt.Scale(domain=[-largest, largest], domainMid=0,
                                                                   range="diverging"),
                        legend=swatches(tickCount=3, format="~r")),
        tooltip=[alt.Tooltip("query_class:N", title="Query's logit"),
                 alt.Tooltip("example_class:N", title="Example's logit"),
                 alt.Tooltip("value:Q", title="Kernel", format="+.4g")]).properties(
        usermeta=figure.SQUARE, **_high(classes))
