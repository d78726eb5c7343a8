"""How far a derivative is off real trainings, against how much a weight was changed."""

from __future__ import annotations

import math

import altair as alt
import pandas as pd

from app.charts import ink
from app.widgets.frame.theme import SERIES

HEIGHT = 340
MORE, LESS = "more weight (1 + ε)", "less weight (1 − ε)"


def errors(frame: pd.DataFrame, middle: pd.DataFrame, tolerance: float) -> alt.LayerChart:
    """frame: candidate, epsilon, error, change (MORE or LESS), every error above 0 and finite; middle: epsilon, error,
    change, the middle one of each; tolerance: a line below which an error is small."""
    ticks = sorted(frame["epsilon"].unique().tolist())
    x = alt.X("epsilon:Q", title="change of the weight, ε (log scale)",
              scale=alt.Scale(type="log", domain=[ticks[0], ticks[-1]], padding=16),
              axis=alt.Axis(values=ticks, format="~g", grid=False))
    low, high = (math.floor(math.log10(one)) for one in (frame["error"].min(), frame["error"].max()))
    decades = [10.0 ** power for power in range(min(low, -1), high + 2)]
    y = alt.Y("error:Q", title="error (log scale)", scale=alt.Scale(type="log", nice=True),
              axis=alt.Axis(values=decades, format="~%", labelOverlap=True))
    color = alt.Color("change:N", title=None, scale=alt.Scale(domain=[MORE, LESS], range=SERIES[:2]),
                      legend=alt.Legend(orient="bottom", columns=1, symbolSize=110, symbolOpacity=1))
    shape = alt.Shape("change:N", title=None, scale=alt.Scale(domain=[MORE, LESS], range=["circle", "triangle-up"]))
    dash = alt.StrokeDash("change:N", legend=None, scale=alt.Scale(domain=[MORE, LESS], range=[[1, 0], [6, 3]]))
    tip = [alt.Tooltip("candidate:N", title="training example"), alt.Tooltip("change:N"),
           alt.Tooltip("epsilon:Q", title="ε", format="~g"), alt.Tooltip("error:Q", title="error", format=".2~%")]
    dots = alt.Chart(frame).mark_point(filled=True, size=46, opacity=0.75).encode(x=x, y=y, color=color, shape=shape,
                                                                                   tooltip=tip)
    lines = alt.Chart(middle).mark_line(strokeWidth=2, tooltip=None).encode(x=x, y=y, color=color, strokeDash=dash)
    limit = ink.limit(y, "error", tolerance, f"tolerance {tolerance:.0%}")
    return alt.layer(alt.layer(lines, dots), *limit).resolve_scale(
        color="independent", stroke="independent").properties(height=HEIGHT)
