"""How far approximations of a training's derivative are off it, and when an example matters in the training."""

from __future__ import annotations

from math import isfinite

import altair as alt
import pandas as pd

from app.charts import ink
from app.widgets.frame.theme import SERIES

ROW = 34


def causes(frame: pd.DataFrame) -> alt.LayerChart:
    """frame: label, error, what ("cause" or "estimator"), tau; a bar each, in the order of the frame."""
    order = frame["label"].tolist()
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=190, grid=False))
    top = max(float(frame["error"].clip(upper=2.0).max()), 0.05)
    x = alt.X("length:Q", title="error (shown up to 200%)",
              scale=alt.Scale(domain=[0, 1.15 * top]), axis=alt.Axis(format="~%", tickCount=5))
    domain = ["cause of SOURCE's error", "estimator as a whole"]
    color = alt.Color("what:N", title=None, scale=alt.Scale(domain=domain, range=[SERIES[1], SERIES[0]]),
                      legend=alt.Legend(orient="bottom", columns=1))
    tip = [alt.Tooltip("label:N", title="what"), alt.Tooltip("error:Q", title="error", format=".3~%"),
           alt.Tooltip("tau:Q", title="Kendall τ with the exact answer", format=".3f")]
    shown = frame.assign(length=frame["error"].clip(upper=2.0), text=[_percent(error) for error in frame["error"]])
    bars = alt.Chart(shown).mark_bar(height=16, cornerRadiusEnd=2).encode(x=x, y=y, color=color, tooltip=tip)
    text = ink.paint(alt.Chart(shown).mark_text(align="left", dx=5, fontSize=11).encode(x=x, y=y, text="text:N"))
    return alt.layer(bars, text).resolve_scale(color="independent").properties(height=ROW * len(frame) + 110)


def _percent(error: float) -> str:
    """Of ∞: scores that overflow."""
    if not isfinite(error):
        return "beyond numbers"
    return f"{100 * error:.3g}%" if error < 1 else f"{100 * error:,.0f}%"


def stretches(frame: pd.DataFrame, unit: str, title: str) -> alt.Chart:
    """frame: part, rate, total, steps (a text); a bar for what each part adds. title: of the rate."""
    x = alt.X("part:Q", title=f"{unit} of the training", scale=alt.Scale(
        domain=[0.4, float(frame["part"].max()) + 0.6], nice=False),
              axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    tip = [alt.Tooltip("steps:N", title="steps"), alt.Tooltip("rate:Q", title="this part", format=".4~g"),
           alt.Tooltip("total:Q", title="sum so far", format=".4~g")]
    color = alt.Color("sign:N", title=None, legend=alt.Legend(orient="bottom"), scale=alt.Scale(
        domain=["supports", "opposes"], range=SERIES[:2]))
    shown = frame.assign(sign=["supports" if rate >= 0 else "opposes" for rate in frame["rate"]])
    bars = alt.Chart(shown).mark_bar(size=max(2, min(22, 240 // len(frame))))
    return bars.encode(x=x, y=alt.Y("rate:Q", title=title), color=color, tooltip=tip).properties(height=260)
