"""Rank under one specification against rank under another: points for one query, a density for all of them."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import figure, ink
from app.charts.swatches import swatches

HEIGHT = 400


def points(ranking: pd.DataFrame, first: str, second: str, top: int, noun: str = "label", score: str = "Score"
           ) -> alt.LayerChart:
    """One point a candidate, of one ranking each way; the top of either one is drawn larger. noun: the column that
    says what an example is labelled. score: what the scores are called."""
    k = len(ranking)
    table = ranking.assign(top=(ranking.rank_a <= top) | (ranking.rank_b <= top))
    marks = alt.Chart(table).mark_circle(opacity=0.65).encode(
        x=_axis("rank_a", "x", first, k), y=_axis("rank_b", "y", second, k),
        size=alt.condition("datum.top", alt.value(60), alt.value(18)),
        tooltip=[alt.Tooltip("example:Q", title="Training example"), alt.Tooltip(f"{noun}:N", title=noun.capitalize()),
                 alt.Tooltip("rank_a:Q", title="Rank under the first"),
                 alt.Tooltip("rank_b:Q", title="Rank under the second"),
                 alt.Tooltip("score_a:Q", title=f"{score} under the first", format="+.3g"),
                 alt.Tooltip("score_b:Q", title=f"{score} under the second", format="+.3g")])
    return alt.layer(_diagonal(k), marks).resolve_scale(color="independent").properties(
        height=HEIGHT, usermeta=figure.SQUARE)


def density(squares: pd.DataFrame, first: str, second: str) -> alt.LayerChart:
    """How often ranks fall together over all queries, against what rankings in random order give."""
    k = float(squares.to_a.max())
    marks = alt.Chart(squares).mark_rect().encode(
        x=_axis("from_a", "x", first, k), x2="to_a:Q", y=_axis("from_b", "y", second, k), y2="to_b:Q",
        color=alt.Color("times:Q", scale=alt.Scale(type="sqrt", range="ramp", domainMin=0),
                        legend=swatches("Times as often as by chance", tickCount=4)),
        tooltip=[alt.Tooltip("from_a:Q", title="First rank above", format=".0f"),
                 alt.Tooltip("from_b:Q", title="Second rank above", format=".0f"),
                 alt.Tooltip("times:Q", title="Times as often", format=".2f")])
    return alt.layer(marks, _diagonal(k)).resolve_scale(color="independent").properties(
        height=HEIGHT, usermeta=figure.SQUARE)


def _axis(field: str, channel: str, label: str, k: float) -> alt.X | alt.Y:
    kind = alt.X if channel == "x" else alt.Y
    return kind(f"{field}:Q", title=f"Rank under {label}", scale=alt.Scale(domain=[0, k], nice=False, zero=True),
                axis=alt.Axis(grid=False, tickCount=5, titlePadding=10))


def _diagonal(k: float) -> alt.Chart:
    line = pd.DataFrame({"from_a": [0, k], "from_b": [0, k]})
    return ink.paint(alt.Chart(line).mark_line(strokeDash=[3, 3], strokeWidth=1, tooltip=None).encode(
        x="from_a:Q", y="from_b:Q"), ink.QUIET)
