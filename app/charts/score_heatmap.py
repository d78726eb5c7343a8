"""One value in [0, 1] a cell with chance marked in the legend: estimator × behavior, or × query and target."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink
from app.charts.swatches import with_chance

SELECTION = "cell"
STEP, AROUND = 40, 112
"""Pixels of a row, and of the column titles and the legend."""


def score_heatmap(cells: pd.DataFrame, measure: str, chance: float) -> alt.LayerChart:
    """cells: row, column (both as they are written, in order), mean, value (its text), half (its interval's half width
    as text), spread (the same as it stands in the cell, or nothing), n_seeds, best, chosen.

    A click selects (row, column) under the name `cell`.
    """
    rows, columns = (list(dict.fromkeys(cells[name])) for name in ("row", "column"))
    base = alt.Chart(cells).encode(
        x=alt.X("column:N", title=None, sort=columns, axis=alt.Axis(
            orient="top", labelAngle=0, labelAlign="center", labelExpr="split(datum.label, ' ')", labelPadding=18,
            domain=False, ticks=False, labelOverlap=False, labelFontSize=10)),
        y=alt.Y("row:N", title=None, sort=rows, axis=alt.Axis(labelLimit=230, labelPadding=8, domain=False,
                                                              ticks=False)))
    clicked = alt.selection_point(name=SELECTION, fields=["row", "column"], on="click", empty=False, toggle=False,
                                  clear=False)
    rects = base.mark_rect(cursor="pointer").encode(
        color=alt.Color("mean:Q", scale=alt.Scale(domain=[0, 1], range="ramp"),
                        legend=with_chance(measure, 0.0, 1.0, chance, 0.2)),
        tooltip=[alt.Tooltip("row:N", title="Estimator"), alt.Tooltip("column:N", title="Column"),
                 alt.Tooltip("value:N", title=measure), alt.Tooltip("half:N", title="± (95%)"),
                 alt.Tooltip("n_seeds:Q", title="Seeds")]).add_params(clicked)
    outlines = [ink.paint(base.transform_filter(f"datum.{name}").mark_rect(
        fillOpacity=0, strokeWidth=width, strokeDash=dash, cornerRadius=2, tooltip=None), channel=alt.Stroke)
        for name, width, dash in (("best", 1.5, [4, 3]), ("chosen", 2.5, [1, 0]))]
    raised = -6 if cells["spread"].ne("").any() else 0  # above an interval
    texts = [ink.paint(base.transform_filter(test).mark_text(fontSize=size, dy=down, tooltip=None).encode(
        text=f"{name}:N"), tone) for name, size, down in (("value", 12, raised), ("spread", 9, 9))
        for test, tone in (("datum.mean <= 0.62", ink.INK), ("datum.mean > 0.62", ink.ON_STRONG))]
    return alt.layer(rects, *outlines, *texts).resolve_scale(color="independent", stroke="independent").properties(
        height=STEP * len(rows) + AROUND)
