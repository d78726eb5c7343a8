"""The way from one answer to another: a bar of links, coloured by cause, above the straight distance."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.widgets.frame.theme import AXIS_COLORS
from engine.desk.analyses import SEED

MIXED, ERRORS = "#8C6BB1", ("#5B5F66", "#8A8F98")
RUN = "#4A7F8C"
ROWS = ("path", "direct difference")


def color(causes: tuple[str, ...], first_error: bool) -> str:
    """One hue an axis, and one for the seed; grey for approximation error, purple for causes that cannot be told
    apart."""
    if len(causes) > 1:
        return MIXED
    if causes[0] == SEED:
        return RUN
    return AXIS_COLORS.get(causes[0], ERRORS[0] if first_error else ERRORS[1])


def way(links: pd.DataFrame, direct: float) -> alt.LayerChart:
    """links: start, end, letter, title, length, share, color, in order."""
    scale = alt.Scale(domain=[0, max(float(links.end.max()), direct) * 1.02], nice=False)
    y = alt.Y("row:N", sort=list(ROWS), title=None, axis=alt.Axis(labelLimit=200, domain=False, ticks=False))
    base = alt.Chart(links.assign(row=ROWS[0])).encode(y=y)
    tip = [alt.Tooltip("title:N", title="cause"), alt.Tooltip("length:Q", format=".4f", title="Kendall distance"),
           alt.Tooltip("share:Q", format=".0%", title="fraction of the path")]
    bars = base.mark_bar(height=34, stroke="#FFFFFF", strokeWidth=1).encode(
        x=alt.X("start:Q", title="Kendall distance", scale=scale,
                axis=alt.Axis(grid=False, tickCount=6)),
        x2="end:Q", color=alt.Color("color:N", scale=None), tooltip=tip)
    wide = base.transform_filter("datum.share > 0.07")
    text = wide.mark_text(color="#FFFFFF", fontWeight="bold", fontSize=12).encode(
        x=alt.X("middle:Q", scale=scale), text="letter:N", tooltip=tip)
    straight = alt.Chart(pd.DataFrame({"row": [ROWS[1]], "start": [0.0], "end": [direct]})).mark_bar(
        height=10, color="#888888").encode(
        y=y, x=alt.X("start:Q", scale=scale), x2="end:Q", tooltip=[alt.Tooltip("end:Q", format=".4f",
                                                                               title="Kendall distance")])
    return alt.layer(bars, text, straight).properties(height=130)


def fractions(means: pd.DataFrame, seeds: pd.DataFrame) -> alt.LayerChart:
    """The fraction of every link, with its interval and the fraction in each seed.

    means: title, color, share, low, high (percent), in order; seeds: title, color, share.
    """
    y = alt.Y("title:N", sort=list(means.title), title=None, axis=alt.Axis(labelLimit=260, domain=False, ticks=False))
    x = alt.X("share:Q", title="fraction of the path (%)", scale=alt.Scale(domain=[0, 100], nice=False),
              axis=alt.Axis(tickCount=6))
    hue = alt.Color("color:N", scale=None)
    span = alt.Chart(means).mark_rule(strokeWidth=2).encode(
        y=y, x=alt.X("low:Q", title="fraction of the path (%)"), x2="high:Q", color=hue)
    mean = alt.Chart(means).mark_tick(thickness=3, size=18).encode(y=y, x=x, color=hue, tooltip=[
        alt.Tooltip("title:N", title="cause"), alt.Tooltip("share:Q", format=".1f", title="mean fraction (%)"),
        alt.Tooltip("low:Q", format=".1f", title="from"), alt.Tooltip("high:Q", format=".1f", title="to")])
    dots = alt.Chart(seeds).mark_circle(size=46, opacity=0.55).encode(y=y, x=x, color=hue, tooltip=[
        alt.Tooltip("title:N", title="cause"), alt.Tooltip("share:Q", format=".1f", title="fraction in one seed (%)")])
    return alt.layer(span, dots, mean).properties(height=70 + 40 * len(means))
