"""Precision over recall along a ranking of suspicious labels, with chance as a rule."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from app.charts.curves import DASHES
from app.widgets.frame.theme import SERIES


def precision_recall(frame: pd.DataFrame, order: Sequence[str], chance: float, height: int = 400) -> alt.LayerChart:
    """frame: series, recall, precision. The first of `order` is strongest; chance: the fraction of wrong labels."""
    order = list(order)
    shown = frame.assign(strong=frame["series"] == order[0])
    color = alt.Color("series:N", sort=order, title=None,
                      scale=alt.Scale(domain=order, range=[SERIES[index % len(SERIES)] for index in range(len(order))]),
                      legend=alt.Legend(orient="bottom", columns=2, labelLimit=170, columnPadding=6,
                                        symbolStrokeWidth=3))
    dash = alt.StrokeDash("series:N", sort=order, title=None, scale=alt.Scale(
        domain=order, range=[DASHES[index % len(DASHES)] for index in range(len(order))]))
    x = alt.X("recall:Q", title="recall (wrong labels found)", scale=alt.Scale(domain=[0, 1]),
              axis=alt.Axis(format="%", grid=False))
    y = alt.Y("precision:Q", title="precision (flagged labels that are wrong)", scale=alt.Scale(domain=[0, 1]),
              axis=alt.Axis(format="%"))
    lines = alt.Chart(shown).mark_line(interpolate="step-after").encode(
        x=x, y=y, color=color, strokeDash=dash, detail="series:N",
        strokeWidth=alt.StrokeWidth("strong:O", legend=None, scale=alt.Scale(domain=[True, False], range=[3.2, 1.4])),
        tooltip=[alt.Tooltip("series:N", title="ranking"), alt.Tooltip("recall:Q", format=".1%"),
                 alt.Tooltip("precision:Q", format=".1%")])
    rule = alt.Chart(pd.DataFrame({"precision": [chance]})).mark_rule(
        color="#888888", strokeDash=[5, 4], strokeWidth=1.2).encode(y=y)
    return alt.layer(rule, lines).properties(height=height)


def accuracies(frame: pd.DataFrame, height: int = 150) -> alt.LayerChart:
    """Accuracy before and after, a dot a seed and the mean with its interval. frame: what, seed, accuracy."""
    y = alt.Y("what:N", sort=["before", "after"], title=None)
    x = alt.X("accuracy:Q", title="test accuracy", scale=alt.Scale(zero=False, padding=14),
              axis=alt.Axis(format=".1%", tickCount=6))
    base = alt.Chart(frame)
    lines = base.mark_line(strokeWidth=1, opacity=0.6, color="#888888").encode(x=x, y=y, detail="seed:N")
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x, y=y, color=alt.Color("what:N", legend=None, scale=alt.Scale(domain=["before", "after"],
                                                                         range=["#7F7F7F", SERIES[0]])),
        tooltip=[alt.Tooltip("what:N"), alt.Tooltip("seed:N"), alt.Tooltip("accuracy:Q", format=".2%")])
    return alt.layer(lines, dots).properties(height=height)
