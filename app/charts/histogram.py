"""How values spread, with the place from which on they are among the largest."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from app.charts import ink

HEIGHT = 170


def binned(values: pd.Series, bins: int) -> pd.DataFrame:
    """Counts in equal bins between the smallest and the largest value; one bin where all are equal."""
    known = values.dropna().to_numpy()
    counts, edges = np.histogram(known, bins=bins if known.size and known.min() < known.max() else 1)
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "count": counts})


def histogram(bins: pd.DataFrame, threshold: float, title: str) -> alt.LayerChart:
    """`bins` as `binned` gives them; a line at `threshold`."""
    scale = alt.Scale(domain=[float(bins["from"].min()), float(bins["to"].max())], nice=False)
    bars = ink.paint(alt.Chart(bins).mark_bar(opacity=0.8).encode(
        x=alt.X("from:Q", bin="binned", title=title, scale=scale, axis=alt.Axis(grid=False, tickCount=8, format="~g")),
        x2="to:Q", y=alt.Y("count:Q", title="candidates (log)", scale=alt.Scale(type="symlog"),
                           axis=alt.Axis(tickCount=4)),
        tooltip=[alt.Tooltip("from:Q", title="from", format=".3g"), alt.Tooltip("to:Q", title="to", format=".3g"),
                 alt.Tooltip("count:Q", title="candidates")]), ink.QUIET)
    rule = alt.Chart(pd.DataFrame({"from": [threshold]})).mark_rule(strokeWidth=2, tooltip=None).encode(x="from:Q")
    return alt.layer(bars, ink.paint(rule, ink.ACCENT)).resolve_scale(color="independent").properties(height=HEIGHT)
