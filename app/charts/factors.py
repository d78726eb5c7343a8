"""The factors of one score: a signal a class as bars, and the kernel between them as a square of classes."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink

HEIGHT, FIT = 220, 12


def signal(bars: pd.DataFrame, title: str) -> alt.LayerChart:
    """bars: class, value; one bar a class, in the order of the classes."""
    classes = list(bars["class"])
    base = alt.Chart(bars).encode(y=alt.Y("class:N", title=None, sort=classes, axis=alt.Axis(
        labels=len(classes) <= FIT, ticks=False, domain=False, labelLimit=90)))
    rects = base.mark_bar(size=max(2, min(12, HEIGHT // len(classes) - 4))).encode(
        x=alt.X("value:Q", title=title, axis=alt.Axis(tickCount=3, format="~g")),
        tooltip=[alt.Tooltip("class:N", title="Class"), alt.Tooltip("value:Q", title=title, format="+.4g")])
    zero = alt.Chart(pd.DataFrame({"value": [0.0]})).mark_rule(strokeWidth=1, tooltip=None).encode(x="value:Q")
    return alt.layer(ink.paint(rects, ink.ACCENT), ink.paint(zero, ink.QUIET)).resolve_scale(
        color="independent").properties(height=HEIGHT)


def kernel(cells: pd.DataFrame) -> alt.Chart:
    """cells: query_class, example_class, value; colours diverge from zero."""
    classes, largest = list(dict.fromkeys(cells["query_class"])), float(cells["value"].abs().max()) or 1.0
    few = len(classes) <= FIT
    return alt.Chart(cells).mark_rect().encode(
        x=alt.X("example_class:N", title="logits of the example", sort=classes,
                axis=alt.Axis(labels=few, labelAngle=-45 if few else 0, ticks=False, domain=False, labelLimit=70)),
        y=alt.Y("query_class:N", title="logits of the query", sort=classes,
                axis=alt.Axis(labels=few, ticks=False, domain=False, labelLimit=90)),
        color=alt.Color("value:Q", title="kernel", scale=alt.Scale(domain=[-largest, largest], domainMid=0,
                                                                   range="diverging"),
                        legend=alt.Legend(orient="bottom", direction="horizontal", gradientLength=120,
                                          gradientThickness=8, tickCount=3, format="~g")),
        tooltip=[alt.Tooltip("query_class:N", title="Query's logit"),
                 alt.Tooltip("example_class:N", title="Example's logit"),
                 alt.Tooltip("value:Q", title="Kernel", format="+.4g")]).properties(height=HEIGHT)
