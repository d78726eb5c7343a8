"""Specification × specification agreement: one value a cell, a click chooses a pair."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink
from app.charts.swatches import with_chance
from engine.metrics.agreement import METRICS

SELECTION = "cell"
STEP, AROUND = 36, 104
"""Pixels of a row, and of the column titles and the legend."""


def heatmap(cells: pd.DataFrame, metric: str, chance: float) -> alt.LayerChart:
    """`cells` as `app.compare.data.matrix` gives them. The selection is `cell`, with the fields row and column."""
    low, high = METRICS[metric].range
    numbers = cells["row"].nunique()
    base = alt.Chart(cells).encode(
        x=alt.X("column:O", title=None, sort=None, axis=alt.Axis(
            orient="top", labelAngle=0, labelExpr="datum.value + 1", labelPadding=6, domain=False, ticks=False)),
        y=alt.Y("first:N", title=None, sort=None, axis=alt.Axis(
            labelLimit=260, labelPadding=8, domain=False, ticks=False)))
    clicked = alt.selection_point(name=SELECTION, fields=["row", "column"], on="click", empty=False, toggle=False,
                                  clear=False)
    rects = base.mark_rect(cursor="pointer").encode(
        color=alt.Color("mean:Q", scale=_scale(low, high),
                        legend=with_chance(METRICS[metric].title, low, high, chance, 0.1)),
        tooltip=[alt.Tooltip("first:N", title="First"), alt.Tooltip("second:N", title="Second"),
                 alt.Tooltip("agreement:N", title=METRICS[metric].title), alt.Tooltip("verdict:N", title="Verdict")],
    ).add_params(clicked)
    outline = ink.paint(base.transform_filter("datum.chosen").mark_rect(
        fillOpacity=0, strokeWidth=2.5, cornerRadius=2, tooltip=None), channel=alt.Stroke)
    size = 13 if numbers <= 8 else 11
    strong = f"abs(datum.mean) > {0.62 * high}"
    values = [ink.paint(base.transform_filter(test).mark_text(fontSize=size, tooltip=None).encode(text="value:N"), tone)
              for test, tone in ((f"!({strong})", ink.INK), (strong, ink.ON_STRONG))]
    return alt.layer(rects, outline, *values).resolve_scale(color="independent", stroke="independent").properties(
        height=STEP * numbers + AROUND)


def _scale(low: float, high: float) -> alt.Scale:
    if low < 0:
        return alt.Scale(domain=[low, high], domainMid=0, range="diverging")
    return alt.Scale(domain=[low, high], range="ramp")
