"""Heatmaps of which a click chooses a cell: agreement between specifications, and a measure of each estimator."""

from __future__ import annotations

from collections.abc import Iterable

import altair as alt
import pandas as pd

from app.charts import figure, ink
from app.charts.swatches import with_chance
from engine.metrics.agreement import METRICS

SELECTION = "cell"
"""The selection of a clicked cell, with the fields row and column."""
CELLS = "cells"
INK = f"luminance(scale('{CELLS}_color', datum.mean)) > 0.179 ? '#000000' : '#FFFFFF'"
"""Vega's expression for the ink on a cell: black or white, whichever has more contrast with the colour that the cell
has in the reader's theme, as `app.charts.palette.ink`."""


def heatmap(cells: pd.DataFrame, metric: str, chance: float) -> alt.LayerChart:
    """Specification × specification; `cells` as `app.compare.data.matrix` gives them."""
    (low, high), title, count = METRICS[metric].range, METRICS[metric].title, cells["row"].nunique()
    base = alt.Chart(cells).encode(
        x=alt.X("column:O", title=None, sort=None, axis=alt.Axis(
            orient="top", labelAngle=0, labelExpr="datum.value + 1", labelPadding=6, domain=False, ticks=False)),
        y=alt.Y("first:N", title=None, sort=None, axis=alt.Axis(
            labelLimit=260, labelPadding=8, domain=False, ticks=False)))
    scale = {"domainMid": 0, "range": "diverging"} if low < 0 else {"range": "ramp"}
    color = alt.Color("mean:Q", scale=alt.Scale(domain=[low, high], **scale),
                      legend=with_chance(title, low, high, chance, 0.1))
    tooltip = {"first": "First", "second": "Second", "agreement": title, "verdict": "Verdict"}
    return _layers(base, color, tooltip, [("chosen", 2.5, [1, 0])], [("value", 13 if count <= 8 else 11, 0)]
                   ).properties(height=36 * count + 104, usermeta=figure.SQUARE)


def score_heatmap(cells: pd.DataFrame, measure: str, chance: float) -> alt.LayerChart:
    """Estimator × behavior, or × query and target, one value in [0, 1] a cell.

    cells: row, column (both as they are written, in order), mean, value (its text), half (its interval's half width
    as text), spread (the same as the cell has it, or nothing), n_seeds, best, chosen.
    """
    rows, columns = (list(dict.fromkeys(cells[name])) for name in ("row", "column"))
    base = alt.Chart(cells).encode(
        x=alt.X("column:N", title=None, sort=columns, axis=alt.Axis(
            orient="top", labelAngle=0, labelAlign="center", labelExpr="split(datum.label, ' ')", labelPadding=18,
            domain=False, ticks=False, labelOverlap=False, labelFontSize=10)),
        y=alt.Y("row:N", title=None, sort=rows, axis=alt.Axis(labelLimit=230, labelPadding=8, domain=False,
                                                              ticks=False)))
    color = alt.Color("mean:Q", scale=alt.Scale(domain=[0, 1], range="ramp"),
                      legend=with_chance(measure, 0.0, 1.0, chance, 0.2))
    tooltip = {"row": "Estimator", "column": "Column", "value": measure, "half": "± (95%)", "n_seeds": "Seeds"}
    raised = -6 if cells["spread"].ne("").any() else 0  # above an interval
    return _layers(base, color, tooltip, [("best", 1.5, [4, 3]), ("chosen", 2.5, [1, 0])],
                   [("value", 12, raised), ("spread", 9, 9)]).properties(height=40 * len(rows) + 112)


def _layers(base: alt.Chart, color: alt.Color, tooltip: dict[str, str],
            outlines: Iterable[tuple[str, float, list[int]]],
            texts: Iterable[tuple[str, int, int]]) -> alt.LayerChart:
    """Squares to click. tooltip: field -> title; outlines: (field that says where, width, dash); texts: (field, size,
    pixels down), in the ink of `INK`."""
    clicked = alt.selection_point(name=SELECTION, fields=["row", "column"], on="click", empty=False, toggle=False,
                                  clear=False)
    rects = base.mark_rect(cursor="pointer").encode(color, tooltip=[
        alt.Tooltip(f"{field}:N", title=title) for field, title in tooltip.items()]).properties(
            name=CELLS).add_params(clicked)
    frames = [ink.paint(base.transform_filter(f"datum.{field}").mark_rect(
        fillOpacity=0, strokeWidth=width, strokeDash=dash, cornerRadius=2, tooltip=None), channel=alt.Stroke)
        for field, width, dash in outlines]
    words = [base.mark_text(fontSize=size, dy=down, tooltip=None, color=alt.expr(INK)).encode(text=f"{field}:N")
             for field, size, down in texts]
    return alt.layer(rects, *frames, *words).resolve_scale(color="independent", stroke="independent")
