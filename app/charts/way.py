"""The path from one answer to another as a waterfall: a bar a cause, which add up to the distance of the two."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import by_row, ink
from app.widgets.frame.theme import AXIS_COLORS
from engine.desk.analyses import ERROR_A, ERROR_B, SEED

MIXED, ERRORS = "#8C6BB1", ("#5B5F66", "#8A8F98")
RUN = "#4A7F8C"
WHOLE = "#6B7178"
ROW, BAR, TEXT = 28, 12, 7
"""Pixels: of a row, of its bar, and of the bar and the line of text above it from the middle of the row."""


def color(causes: tuple[str, ...], first_error: bool) -> str:
    """One hue an axis, that of T for its departures and checkpoints too, and one for the seed; grey for approximation
    error, purple for causes that cannot be told apart."""
    if len(causes) > 1:
        return MIXED
    if causes[0] == SEED:
        return RUN
    if causes[0] in (ERROR_A, ERROR_B):
        return ERRORS[0] if first_error else ERRORS[1]
    return AXIS_COLORS.get(causes[0], AXIS_COLORS["T"])


def waterfall(steps: pd.DataFrame, measure: str = "Kendall distance") -> alt.LayerChart:
    """Bars that begin where the one above ends, each below its name and value, which no width cuts off. steps: title,
    start, end, change (with its sign), said (its text), letter, color, half (of its interval, or NaN), in order, the
    last one the whole from 0. measure: of what."""
    order = list(steps.title)
    y = alt.Y("title:N", sort=order, axis=None)
    ends = steps[["start", "end"]]
    scale = alt.Scale(domain=[min(0.0, float(ends.min().min())), 1.02 * float(ends.max().max()) or 1.0], nice=False)
    x = alt.X("start:Q", title=measure, scale=scale, axis=alt.Axis(grid=False, tickCount=5))
    base = alt.Chart(steps.assign(low=steps[["start", "end"]].min(1), high=steps[["start", "end"]].max(1),
                                  after=[*order[1:], order[-1]])).encode(y=y)
    tip = [alt.Tooltip("title:N", title="step"), alt.Tooltip("change:Q", format="+.4f", title=measure),
           alt.Tooltip("half:Q", format=".4f", title="± 95%"), alt.Tooltip("said:N", title="of the path")]
    bars = base.mark_bar(height=BAR, yOffset=TEXT).encode(
        x=x, x2="end:Q", color=alt.Color("color:N", scale=None), tooltip=tip)
    joins = base.mark_rule(strokeWidth=1, opacity=0.5, yOffset=TEXT, y2Offset=TEXT).encode(
        x=alt.X("end:Q", scale=scale), y2="after:N")
    letters = base.transform_filter(f"datum.high - datum.low > {0.05 * scale.domain[1]}").mark_text(
        color="#FFFFFF", fontWeight="bold", fontSize=10, dy=TEXT, tooltip=None).encode(
        x=alt.X("middle:Q", scale=scale), text="letter:N").transform_calculate(middle="(datum.low + datum.high) / 2")
    names = base.mark_text(align="left", dy=-TEXT, fontSize=12, tooltip=None).encode(
        x=alt.value(0), text="name:N").transform_calculate(name="datum.title + ':  ' + datum.said")
    return alt.layer(ink.paint(joins, ink.QUIET, alt.Stroke), bars, letters, ink.paint(names)).resolve_scale(
        color="independent", stroke="independent").properties(**by_row.high(len(order), ROW))


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
