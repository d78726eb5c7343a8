"""How stable a ranking becomes as training runs are added."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink
from app.widgets.frame.theme import SERIES

HEIGHT = 260


def growth(frame: pd.DataFrame, stable: float) -> alt.LayerChart:
    """frame: seeds, stability, noise; stable: a line at the τ from which a ranking counts as stable."""
    low = min(0.0, float(frame["stability"].min()))
    x = alt.X("seeds:Q", title="training runs", scale=alt.Scale(domain=[0, int(frame["seeds"].max())], padding=12),
              axis=alt.Axis(values=[0, *frame["seeds"].tolist()], format="d", grid=False))
    y = alt.Y("stability:Q", title="Kendall's τ between two halves", scale=alt.Scale(domain=[low, 1.0], nice=True))
    tip = [alt.Tooltip("seeds:Q", title="training runs"), alt.Tooltip("stability:Q", title="τ", format=".3f"),
           alt.Tooltip("noise:Q", title="standard error / spread", format=".3f")]
    base = alt.Chart(frame)
    line = base.mark_line(strokeWidth=2, color=SERIES[0], tooltip=None).encode(x=x, y=y)
    dots = base.mark_point(filled=True, size=70, color=SERIES[0], opacity=1).encode(x=x, y=y, tooltip=tip)
    limit = ink.limit(y, "stability", stable, f"stable from {stable:g}")
    return alt.layer(line, dots, *limit).resolve_scale(stroke="independent").properties(height=HEIGHT)
