"""The pictures of the Learn page: bars around zero, a cloud of points, a curve with its tangent, the plane."""

from __future__ import annotations

import re
from collections.abc import Sequence

import altair as alt
import pandas as pd

from app.charts import figure, ink

HEIGHT, PLANE = 320, 420
LONG = 36
"""Letters of an axis title that fit beside a chart of that height before a class, and below one on a phone."""
HELPS, HARMS, THIRD = "#3A92CF", "#D55E00", "#009E73"
GREY = "#888888"


def changes(frame: pd.DataFrame, title: Sequence[str]) -> alt.LayerChart:
    """One bar around zero an example that is left out: one whose absence lowers the behavior supports it.
    frame: name, change, chosen (bool). title: of the axis, in lines."""
    order = list(frame.name)
    bars = alt.Chart(frame).mark_bar(height=alt.RelativeBandSize(0.7)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=220, domain=False, ticks=False)),
        x=alt.X("change:Q", title=list(title), axis=alt.Axis(format="+.2~g", tickCount=5)),
        color=alt.condition("datum.change < 0", alt.value(HELPS), alt.value(HARMS)),
        opacity=alt.condition("datum.chosen", alt.value(1), alt.value(0.35)), key="name:N",
        tooltip=[alt.Tooltip("name:N", title="left out"),
                 alt.Tooltip("change:Q", format="+.4f", title=" ".join(title))])
    zero = alt.Chart(pd.DataFrame({"change": [0.0]})).mark_rule(color=GREY).encode(x="change:Q")
    return alt.layer(bars, zero).properties(height=max(180, 34 * len(frame)))


def in_lines(title: str) -> str | list[str]:
    """The title of an axis, a long one in two lines, of which a bracket or what follows a colon or a comma begins the
    second."""
    return re.split(r" (?=\()|(?<=:) |, ", title, maxsplit=1) if len(title) > LONG else title


def cloud(frame: pd.DataFrame, x_title: str, y_title: str, diagonal: bool = False) -> alt.LayerChart:
    """One point an example. frame: x, y, example, label. diagonal: of ranks, of which 1 supports the behavior most."""
    x_title, y_title = (f"{title}, 1 supports most" if diagonal else title for title in (x_title, y_title))
    axis = alt.Axis(grid=False, tickCount=5, format=".3~g")
    points = alt.Chart(frame).mark_point(filled=True, size=42, opacity=0.7, color=HELPS).encode(
        x=alt.X("x:Q", title=in_lines(x_title), scale=alt.Scale(zero=False), axis=axis),
        y=alt.Y("y:Q", title=in_lines(y_title), scale=alt.Scale(zero=False), axis=axis), key="example:Q",
        tooltip=[alt.Tooltip("example:Q"), alt.Tooltip("label:N"), alt.Tooltip("x:Q", format="+.3g", title=x_title),
                 alt.Tooltip("y:Q", format="+.3g", title=y_title)])
    if not diagonal:
        return alt.layer(points).properties(height=HEIGHT)
    ends = pd.DataFrame({"x": [1, len(frame)], "y": [1, len(frame)]})
    line = alt.Chart(ends).mark_line(color=GREY, strokeDash=[4, 3], strokeWidth=1).encode(x="x:Q", y="y:Q")
    return alt.layer(line, points).properties(height=HEIGHT, usermeta=figure.SQUARE)


def axes(x: tuple[float, float], y: tuple[float, float], x_title: str, y_title: str) -> alt.LayerChart:
    """The axes of a cloud before it is shown. x, y: the ends of each."""
    across, up = (alt.Scale(domain=list(ends), nice=False) for ends in (x, y))
    axis = alt.Axis(grid=False, tickCount=5, format=".3~g")
    ends = pd.DataFrame({"x": x, "y": y})
    return alt.layer(alt.Chart(ends).mark_point(opacity=0, tooltip=None).encode(
        x=alt.X("x:Q", title=in_lines(x_title), scale=across, axis=axis),
        y=alt.Y("y:Q", title=in_lines(y_title), scale=up, axis=axis))).properties(height=HEIGHT)


def tangent(frame: pd.DataFrame, at_x: float, unit: str, x: str = "eta", title: str = "step size η",
            longest: float | None = None) -> alt.LayerChart:
    """A curve and its tangent, with the gap at one place. frame: x, curve, tangent; title: of x; longest: the end of
    its axis, from 0 (default: what the frame has)."""
    names = ["exact", "first order"]
    long = frame.rename(columns={"curve": names[0], "tangent": names[1]}).melt(x, names, "kind", "value")
    scale = alt.Scale(domain=names, range=[HELPS, HARMS])
    legend = alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3)
    lines = alt.Chart(long).mark_line(strokeWidth=2.2).encode(
        x=alt.X(f"{x}:Q", title=title, axis=alt.Axis(grid=False),
                scale=alt.Undefined if longest is None else alt.Scale(domain=[0, longest], nice=False)),
        y=alt.Y("value:Q", title=in_lines(unit)), color=alt.Color("kind:N", scale=scale, title=None, legend=legend),
        strokeDash=alt.StrokeDash("kind:N", scale=alt.Scale(domain=names, range=[[1, 0], [6, 4]]), title=None,
                                  legend=legend))
    at = frame.iloc[(frame[x] - at_x).abs().argmin()]
    ends = pd.DataFrame({x: [at[x]] * 2, "value": [at.curve, at.tangent], "kind": names})
    gap = alt.Chart(pd.DataFrame({x: [at[x]], "low": [at.curve], "high": [at.tangent]})).mark_rule(
        color=GREY, strokeDash=[3, 3], strokeWidth=1.5).encode(x=f"{x}:Q", y="low:Q", y2="high:Q")
    dots = alt.Chart(ends).mark_point(filled=True, size=110, opacity=1).encode(
        x=f"{x}:Q", y="value:Q", color=alt.Color("kind:N", scale=scale), key="kind:N",
        tooltip=[alt.Tooltip("kind:N"), alt.Tooltip(f"{x}:Q"), alt.Tooltip("value:Q", format="+.4g", title=unit)])
    return alt.layer(lines, gap, dots).properties(height=HEIGHT)


def line(frame: pd.DataFrame, unit: str, x: str, title: str) -> alt.LayerChart:
    """The tangent alone. frame: x, tangent."""
    return alt.layer(alt.Chart(frame).mark_line(strokeWidth=2.2, color=HARMS, strokeDash=[6, 4]).encode(
        x=alt.X(f"{x}:Q", title=title, axis=alt.Axis(grid=False)),
        y=alt.Y("tangent:Q", title=in_lines(unit)))).properties(height=HEIGHT)


def inspection(frame: pd.DataFrame, names: list[str]) -> alt.LayerChart:
    """How many wrong labels are found by looking at so many. frame: inspected, found, kind; names: of the kinds."""
    colors = [GREY, HELPS, THIRD, HARMS]
    dashes = [[4, 4], [1, 0], [7, 3], [2, 2]]
    legend = alt.Legend(orient="top", columns=2, labelLimit=260)
    lines = alt.Chart(frame).mark_line(strokeWidth=2.2).encode(
        x=alt.X("inspected:Q", title="labels inspected, most suspicious first", axis=alt.Axis(grid=False)),
        y=alt.Y("found:Q", title="wrong labels found"),
        color=alt.Color("kind:N", sort=names, scale=alt.Scale(domain=names, range=colors[:len(names)]), title=None,
                        legend=legend),
        strokeDash=alt.StrokeDash("kind:N", sort=names, title=None, legend=legend,
                                  scale=alt.Scale(domain=names, range=dashes[:len(names)])),
        tooltip=[alt.Tooltip("kind:N"), alt.Tooltip("inspected:Q"), alt.Tooltip("found:Q")])
    return alt.layer(lines).properties(height=HEIGHT)


MOVED = "moved"
"""The selection of the plane: the place of the moved point."""


ENDS = ("x0", "y0", "x1", "y1")
MODELS = {"factual": "without the point", "exact": "exact", "linearised": "linearised"}


def plane(points: pd.DataFrame, factual: pd.DataFrame, grid: pd.DataFrame, start: tuple[float, float], side: float,
          kind: str) -> alt.LayerChart:
    """Two classes with boundaries, and a point that is dragged; the browser has the answer at every place.

    points: x, y, kind, size; factual: the `ENDS` of the boundary without the point, each with "factual " before it;
    grid: x, y and the same of exact and linearised; start: where the moved point is at first; kind: of the moved
    point.
    """
    moved = alt.selection_point(name=MOVED, fields=["x", "y"], nearest=True, toggle=False, clear=False,
                                on="pointerdown, [pointerdown, window:pointerup] > pointermove",
                                value=[{"x": start[0], "y": start[1]}])
    everywhere = alt.Chart(grid).transform_calculate(kind=f"'{kind}'")
    here = everywhere.transform_filter(moved)
    across, up, *_ = _on_plane(side)
    targets = everywhere.mark_point(opacity=0, filled=True, size=1, cursor="grab", tooltip=None).encode(
        across, up).add_params(moved)
    lines = [_boundary(alt.Chart(factual) if model == "factual" else here, model, side) for model in MODELS]
    return alt.layer(alt.layer(*lines), _marks(points, side), *_ringed(here, side), targets).resolve_scale(
        color="independent", shape="independent").properties(height=PLANE, usermeta=figure.SQUARE)


def still_plane(points: pd.DataFrame, factual: pd.DataFrame, start: tuple[float, float], side: float) -> alt.LayerChart:
    """The plane before the point is moved, with the boundary without it alone; as in `plane`."""
    here = alt.Chart(pd.DataFrame([{"x": start[0], "y": start[1], "kind": "moved point, class 0"}]))
    return alt.layer(_boundary(alt.Chart(factual), "factual", side), _marks(points, side), *_ringed(here, side)
                     ).resolve_scale(color="independent", shape="independent").properties(
        height=PLANE, usermeta=figure.SQUARE)


def _on_plane(side: float) -> tuple[alt.X, alt.Y, alt.Color, alt.Shape]:
    """The channels of what lies on the plane."""
    axis, kinds = alt.Axis(grid=False, tickCount=5), [
        "class 0", "class 1", "moved point, class 0", "moved point, class 1", "query, class 1"]
    x, y = (alt.Scale(domain=[-side, side], nice=False) for _ in "xy")
    shade = alt.Color("kind:N", title=None, legend=None,
                      scale=alt.Scale(domain=kinds, range=[HELPS, HARMS, HELPS, HARMS, THIRD]))
    shape = alt.Shape("kind:N", title=None, legend=None, scale=alt.Scale(
        domain=kinds, range=["circle", "square", "circle", "square", "diamond"]))
    return alt.X("x:Q", scale=x, axis=axis, title=None), alt.Y("y:Q", scale=y, axis=axis, title=None), shade, shape


def _marks(points: pd.DataFrame, side: float) -> alt.Chart:
    return alt.Chart(points).mark_point(filled=True, opacity=0.95).encode(
        *_on_plane(side), size=alt.Size("size:Q", scale=None, legend=None),
        tooltip=[alt.Tooltip("kind:N"), alt.Tooltip("x:Q", format=".2f"), alt.Tooltip("y:Q", format=".2f")])


def _ringed(here: alt.Chart, side: float) -> tuple[alt.Chart, alt.Chart]:
    """The moved point and the ring around it."""
    across, up, shade, shape = _on_plane(side)
    return (here.mark_point(filled=True, opacity=0.95, size=190).encode(across, up, shade, shape),
            ink.paint(here.mark_point(filled=False, size=620, strokeWidth=2).encode(across, up), channel=alt.Stroke))


def _boundary(chart: alt.Chart, model: str, side: float) -> alt.Chart:
    x, y = (alt.Scale(domain=[-side, side], nice=False) for _ in "xy")
    models = list(MODELS.values())
    x0, y0, x1, y1 = (f"{model} {end}" for end in ENDS)
    return chart.transform_calculate(model=f"'{MODELS[model]}'").mark_rule(strokeWidth=2.4, clip=True).encode(
        x=alt.X(f"{x0}:Q", scale=x), y=alt.Y(f"{y0}:Q", scale=y), x2=f"{x1}:Q", y2=f"{y1}:Q",
        color=alt.Color("model:N", sort=models, title="decision boundary", scale=alt.Scale(
            domain=models, range=[GREY, "#8C6BB1", "#E69F00"]), legend=alt.Legend(orient="top", columns=3)),
        strokeDash=alt.StrokeDash("model:N", sort=models, legend=None, scale=alt.Scale(
            domain=models, range=[[3, 3], [1, 0], [8, 4]])))
