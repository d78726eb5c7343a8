"""What removing the top of rankings does, beside random groups of the same size as a band."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from app.widgets.frame.theme import SERIES

HEIGHT = 400


def removal(frame: pd.DataFrame, order: Sequence[str], title: str) -> alt.LayerChart:
    """frame: ranking, removed, change, random, low, high: the last three of random groups, with the band over them.
    title: of what is read."""
    x = alt.X("removed:Q", title="training examples removed", scale=alt.Scale(type="log", nice=False, padding=14),
              axis=alt.Axis(values=sorted(set(frame.removed)), format="~g", grid=False))
    y = alt.Y("change:Q", title=title, axis=alt.Axis(format=".3~g", tickCount=6))
    names = list(order)
    color = alt.Color("ranking:N", sort=names, title=None, scale=alt.Scale(domain=names, range=SERIES[:len(names)]),
                      legend=alt.Legend(orient="bottom", columns=1, labelLimit=320))
    shape = alt.Shape("ranking:N", sort=names, title=None, legend=None)
    chance = alt.Chart(frame.drop_duplicates("removed")).encode(x=x)
    tip = [alt.Tooltip("ranking:N", title="ranking"), alt.Tooltip("removed:Q", title="removed"),
           alt.Tooltip("change:Q", title="change", format="+.4g"),
           alt.Tooltip("random:Q", title="random groups", format="+.4g")]
    lines = alt.Chart(frame).encode(x=x, y=y, color=color)
    return alt.layer(
        alt.Chart(pd.DataFrame({"change": [0.0]})).mark_rule(color="#888888", strokeDash=[4, 3]).encode(y=y),
        chance.mark_area(opacity=0.2, color="#888888").encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
        chance.mark_line(color="#888888", strokeWidth=1.2).encode(y="random:Q"),
        lines.mark_line(strokeWidth=2), lines.mark_point(filled=True, size=60, opacity=1).encode(shape=shape,
                                                                                                 tooltip=tip),
    ).properties(height=HEIGHT)
