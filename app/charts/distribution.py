"""How agreement spreads over queries, with its mean and interval."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink
from engine.basics.values import signed
from engine.metrics.agreement import METRICS, MeanAgreement

HEIGHT = 170
BRUSHED = "brushed"
"""The selection of a range drawn over the bars, under the name of their field `from`."""


def distribution(bins: pd.DataFrame, agreement: MeanAgreement, metric: str, chosen: tuple[float, float] | None = None
                 ) -> alt.LayerChart:
    """`bins` as `app.compare.data.histogram` gives them. chosen: a range that is marked."""
    low, high = float(bins["from"].min()), float(bins["to"].max())
    scale = alt.Scale(domain=[low, high], nice=False)
    bars = ink.paint(alt.Chart(bins).mark_bar(opacity=0.8).encode(
        x=alt.X("from:Q", bin="binned", title=f"{METRICS[metric].title} of a query", scale=scale,
                axis=alt.Axis(grid=False, tickCount=8, labelFlush=True)),
        x2="to:Q", y=alt.Y("queries:Q", title="Queries", axis=alt.Axis(tickCount=4)),
        tooltip=[alt.Tooltip("from:Q", title="From"), alt.Tooltip("to:Q", title="To"),
                 alt.Tooltip("queries:Q", title="Queries")]).add_params(
        alt.selection_interval(name=BRUSHED, encodings=["x"])), ink.QUIET)
    mean = pd.DataFrame({"from": [agreement.mean], "text": [f"mean {signed(agreement.mean, 3)}"]})
    width = 0.0 if agreement.ci95 != agreement.ci95 else agreement.ci95
    span = pd.DataFrame({"from": [max(low, agreement.mean - width)], "to": [min(high, agreement.mean + width)]})
    interval = alt.Chart(span).mark_rect(opacity=0.35, tooltip=None).encode(x="from:Q", x2="to:Q")
    rule = alt.Chart(mean).mark_rule(strokeWidth=2, tooltip=None).encode(x="from:Q")
    name = alt.Chart(mean).mark_text(dy=-4, baseline="bottom", fontSize=12, tooltip=None).encode(
        x="from:Q", y=alt.value(0), text="text:N")
    marked = [alt.Chart(pd.DataFrame([chosen], columns=["from", "to"])).mark_rect(opacity=0.18, tooltip=None).encode(
        x="from:Q", x2="to:Q")] if chosen else []
    layers = [bars, *map(ink.paint, marked), ink.paint(interval, ink.ACCENT), ink.paint(rule, ink.ACCENT),
              ink.paint(name)]
    return alt.layer(*layers).resolve_scale(color="independent").properties(height=HEIGHT)
