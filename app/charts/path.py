"""The rate of a behavior along an upweighting path: its area is what the behavior gains."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink

HEIGHT = 260
PATH, TANGENT = "along the path", "rate at the start, held"


def rates(path: pd.DataFrame, tangent: pd.DataFrame, title: str, symbol: str = "α") -> alt.LayerChart:
    """path, tangent: alpha, rate; the exact rate with its area, and the tangent's constant rate. title: of the rate."""
    x = alt.X("alpha:Q", title=f"weight {symbol}", axis=alt.Axis(tickCount=5, format="~g"))
    y = alt.Y("rate:Q", title=title, axis=alt.Axis(tickCount=5, format="~g"))
    tip = [alt.Tooltip("alpha:Q", title="Weight", format=".4g"), alt.Tooltip("rate:Q", title="Rate", format="+.4g")]
    area = alt.Chart(path).mark_area(opacity=0.25, interpolate="monotone", tooltip=None).encode(x=x, y=y)
    line = alt.Chart(path).mark_line(interpolate="monotone", strokeWidth=2, tooltip=None).encode(x=x, y=y)
    dots = alt.Chart(path).mark_point(filled=True, size=40, opacity=1).encode(x=x, y=y, tooltip=tip)
    constant = alt.Chart(tangent).mark_line(strokeDash=[5, 4], strokeWidth=1.6, tooltip=None).encode(x=x, y=y)
    layers = [ink.paint(area, ink.ACCENT), ink.paint(line, ink.ACCENT, alt.Stroke), ink.paint(dots, ink.ACCENT),
              ink.paint(constant, ink.QUIET, alt.Stroke)]
    return alt.layer(*layers).resolve_scale(color="independent", stroke="independent").properties(height=HEIGHT)
