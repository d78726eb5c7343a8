"""A benchmark's result of every method: a dot and its 95% interval, coloured by what the method is."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.widgets.frame.theme import SERIES

QUIET = "#8A8A8A"


def dots(frame: pd.DataFrame, x_title: list[str], roles: list[str], ceiling: float | None) -> alt.LayerChart:
    """frame: title, role, mean, low, high, n; x_title: its lines; ceiling: where a rule marks what the exact answer of
    another training seed reaches."""
    order = alt.EncodingSortField("mean", order="descending")
    y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=240, labelOverlap=False))
    scale = alt.Scale(zero=False, nice=True, padding=14)
    axis = alt.Axis(titleAnchor="end")  # so that a phone, whose plot is narrow, does not cut it
    legend = alt.Legend(orient="bottom", columns=1, labelLimit=280)
    color = alt.Color("role:N", title=None, sort=roles, scale=alt.Scale(domain=roles, range=[*SERIES[:2], QUIET]),
                      legend=legend)
    shape = alt.Shape("role:N", title=None, sort=roles, legend=legend,
                      scale=alt.Scale(domain=roles, range=["diamond", "circle", "cross"]))
    base = alt.Chart(frame).encode(y=y, color=color)
    layers = [
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=x_title, scale=scale, axis=axis), x2="high:Q"),
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=alt.X("mean:Q", title=x_title, scale=scale, axis=axis), shape=shape,
            tooltip=[alt.Tooltip("title:N", title="method"), alt.Tooltip("role:N", title="is"),
                     alt.Tooltip("mean:Q", format=".3f"), alt.Tooltip("ci95:Q", title="± 95%", format=".3f"),
                     alt.Tooltip("n:Q", title="values")])]
    if ceiling is not None:
        layers.append(alt.Chart(pd.DataFrame({"mean": [ceiling]})).mark_rule(color="#888888", strokeDash=[5, 4]).encode(
            x=alt.X("mean:Q", title=x_title, scale=scale, axis=axis)))
    return alt.layer(*layers).properties(height=34 * frame["title"].nunique() + 120)
