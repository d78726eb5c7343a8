"""Agreement along a parameter: a line and a 95% band a series, the draws as points, the chosen value as a rule."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from app.charts import figure, slide, tips
from app.widgets.frame.theme import SERIES

DASHES = [[1, 0], [2, 3], [7, 4], [10, 3, 2, 3], [5, 2], [1, 2], [12, 4], [3, 1]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]
AXIS = 90
"""About what the axis on the left takes of the width, in pixels."""
SAME, SWITCHED = "#3A92CF", "#D55E00"


def agreement_curves(means: pd.DataFrame, seeds: pd.DataFrame, order: Sequence[str], titles: tuple[str, str],
                     ticks: Sequence[float], published: pd.DataFrame | None = None, stops: pd.DataFrame | None = None,
                     start: int = 0, height: int = 320, markers: pd.DataFrame | None = None) -> alt.LayerChart:
    """means: series, x, mean, low, high, n_seeds; seeds: series, x, seed, mean; markers: series, x, mean; published:
    these and `run`, its name in the legend; stops: series, place, x, mean, where a slider stops, at first at `start`;
    titles: of the two axes.
    """
    order, (x_title, y_title) = list(order), titles
    means, seeds, markers, stops = (_last_first(frame, order) for frame in (means, seeds, markers, stops))
    scale = alt.Scale(domain=_domain([means, seeds, markers, published]), zero=False, nice=False)
    y = alt.Y("mean:Q", title=y_title, scale=scale, axis=alt.Axis(tickCount=6, format=".3~f"))
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(type="log", domain=[min(ticks), max(ticks)], padding=14),
              axis=alt.Axis(values=list(ticks), format="~e" if min(ticks) < 1e-3 else "~g", grid=False,
                            labelOverlap=True))
    color = alt.Color("series:N", sort=order, title=None, scale=alt.Scale(domain=order, range=_cut(SERIES, order)),
                      legend=alt.Legend(orient="bottom", columns=_columns(order, stops), symbolSize=110,
                                        symbolOpacity=1, symbolStrokeWidth=0, labelLimit=240,
                                        labelExpr=alt.Undefined if stops is None else slide.labels(stops)))
    shape = alt.Shape("series:N", sort=order, title=None, scale=alt.Scale(domain=order, range=_cut(SHAPES, order)))
    dash = alt.StrokeDash("series:N", sort=order, title=None, scale=alt.Scale(domain=order, range=_cut(DASHES, order)))
    tip = [alt.Tooltip("series:N", title="series"), alt.Tooltip("x:Q", title=x_title.split(" (")[0], format="~g"),
           alt.Tooltip("mean:Q", title=y_title, format=".4f")]
    base = alt.Chart(means).encode(x=x, color=color)
    layers = [
        base.mark_area(opacity=0.13, clip=True).encode(y=alt.Y("low:Q", title=y_title, scale=scale), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash),
        alt.Chart(seeds).mark_point(filled=True, size=16, opacity=0.4).encode(x=x, y=y, color=color, shape=shape),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            y=y, shape=shape, tooltip=[*tip, alt.Tooltip("ci95:Q", title="± 95% over seeds", format=".4f"),
                                       alt.Tooltip("n_seeds:Q", title="seeds")]),
    ]
    if published is not None and len(published):
        layers += _published(published, x, y, color, tip)
    if markers is not None and len(markers):
        layers += _marker(markers, x, y, color, tip)
    if stops is not None:
        slider = slide.parameter(int(stops["place"].max()) + 1, start, x_title.split(" (")[0])
        layers += slide.layers(stops, slider, x, y, color)
    return alt.layer(*layers).properties(height=height)


def _published(frame: pd.DataFrame, x: alt.X, y: alt.Y, color: alt.Color, tip: list[alt.Tooltip]) -> list[alt.Chart]:
    base = alt.Chart(frame).encode(x=x, y=y, color=color)
    named = alt.Size("run:O", title=None, scale=alt.Scale(range=[90, 90]), legend=alt.Legend(
        orient="bottom", symbolType="diamond", symbolFillColor="transparent", symbolStrokeWidth=1.6, labelLimit=320))
    return [base.mark_line(strokeWidth=1, opacity=0.75).encode(detail="series:N"),
            base.mark_point(filled=False, strokeWidth=1.6, opacity=1, shape="diamond").encode(
                size=named, tooltip=[alt.Tooltip("run:N", title="run"), *tip])]


def _marker(frame: pd.DataFrame, x: alt.X, y: alt.Y, color: alt.Color, tip: list[alt.Tooltip]) -> list[alt.Chart]:
    rule = alt.Chart(frame.head(1)).mark_rule(strokeWidth=1.4, opacity=0.7, strokeDash=[4, 3], color="#888888")
    point = alt.Chart(frame).mark_point(filled=True, size=150, stroke="#888888", strokeWidth=1.5, opacity=1,
                                        shape="circle")
    return [rule.encode(x=x), point.encode(x=x, y=y, color=color, tooltip=tip)]


def _last_first(frame: pd.DataFrame | None, order: Sequence[str]) -> pd.DataFrame | None:
    """Rows in reverse order of their series, so that the first series is drawn on top where curves coincide."""
    if frame is None or frame.empty:
        return frame
    return frame.sort_values("series", key=lambda names: -names.map(list(order).index), kind="stable")


def _domain(frames: Sequence[pd.DataFrame | None]) -> list[float]:
    values = [float(frame[column].min()) for frame in frames if frame is not None and len(frame)
              for column in ("mean", "low") if column in frame]
    low = min([value for value in values if value == value], default=0.0)
    room = max(0.01, 0.06 * (1.0 - low))
    return [max(-1.0, low - room), 1.0 + room / 2]


def _columns(order: Sequence[str], stops: pd.DataFrame | None) -> alt.ExprRef:
    """As many columns of the legend as stand beside one another, three at most, by the width of the container,
    since that of the plot is not known yet when the legend is first laid out."""
    letters = max(map(len, order)) + (0 if stops is None else 7)
    return alt.ExprRef(f"max(1, min(3, floor(((containerSize()[0] || 600) - {AXIS}) / {7 * letters + 24})))")


def _cut(values: Sequence, order: Sequence) -> list:
    return [values[index % len(values)] for index in range(len(order))]


def exact_scatter(frame: pd.DataFrame, height: int = 380) -> alt.LayerChart:
    """Approximate against exact scores of one query, with the line on which both are equal."""
    low = float(frame[["exact", "approximate"]].min().min())
    high = float(frame[["exact", "approximate"]].max().max())
    room = 0.05 * (high - low) or 1.0
    domain = [low - room, high + room]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    signs = ["same sign", "sign switched"]
    axis = alt.Axis(format=".3~g", tickCount=5, labelOverlap=True)
    points = alt.Chart(frame).mark_point(filled=True, size=26, opacity=0.7).encode(
        x=alt.X("exact:Q", scale=scale, title="exact score", axis=axis),
        y=alt.Y("approximate:Q", scale=scale, title="approximate score", axis=axis),
        color=alt.Color("sign:N", title=None, scale=alt.Scale(domain=signs, range=[SAME, SWITCHED]),
                        legend=alt.Legend(orient="bottom")),
        shape=alt.Shape("sign:N", title=None, scale=alt.Scale(domain=signs, range=["circle", "triangle-up"])),
        tooltip=[*tips.of_examples(frame), alt.Tooltip("candidate:Q", title="training example"),
                 alt.Tooltip("exact:Q", format="+.4g"), alt.Tooltip("approximate:Q", format="+.4g")])
    ends = pd.DataFrame({"exact": domain, "approximate": domain})
    line = alt.Chart(ends).mark_line(color="#888888", strokeDash=[5, 4], strokeWidth=1.2).encode(
        x=alt.X("exact:Q", scale=scale), y=alt.Y("approximate:Q", scale=scale))
    return alt.layer(line, points).properties(height=height, usermeta=figure.SQUARE)
