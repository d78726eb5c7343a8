"""A rate before and after, one row each: two dots joined by a line, the seeds of the later one small beside it."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import by_row, ink

STEP = 30


def before_after(rows: pd.DataFrame, seeds: pd.DataFrame, title: str) -> alt.LayerChart:
    """rows: label, before, after, half. seeds: label, value (after retraining, one a seed)."""
    order = list(rows["label"])
    x = alt.X("before:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5, format=".0%"))
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=260, ticks=False, domain=False,
                                                               labelPadding=10))
    tip = [alt.Tooltip("label:N", title="Removed"), alt.Tooltip("before:Q", format=".3f"),
           alt.Tooltip("after:Q", format=".3f"), alt.Tooltip("half:Q", title="± (95%)", format=".3f")]
    base = alt.Chart(rows).encode(y=y, tooltip=tip)
    points = alt.Chart(seeds).mark_tick(thickness=2, size=12, opacity=0.55).encode(y=y, x="value:Q")
    return alt.layer(
        ink.paint(base.mark_rule(strokeWidth=2).encode(x=x, x2="after:Q"), ink.QUIET),
        ink.paint(base.mark_point(filled=True, size=80, shape="diamond", opacity=1).encode(x="before:Q"), ink.QUIET),
        ink.paint(points, 0), ink.paint(base.mark_point(filled=True, size=95, opacity=1).encode(x="after:Q"), 0),
    ).resolve_scale(color="independent").properties(**by_row.high(len(order), STEP))
