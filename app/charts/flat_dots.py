"""The dots of `app.charts.dots.plane` as a chart of Altair, for a file: nothing in it is selected or hovered."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import altair as alt
import pandas as pd

from app.charts import dots, figure, ink

SIDE = 480
GREYED = 0.25
"""Opacity of the dots outside a group."""
SHAPES = ("circle", "diamond", "square", "cross", "stroke", "triangle-up")


def plane(points: pd.DataFrame, order: Sequence[str], axes: tuple[str, str], group: Collection[int] = (),
          example: int | None = None, diagonal: float | None = None, quiet: str = "") -> alt.LayerChart:
    """The arguments of `dots.plane`; a scatter of two ranks is square."""
    listed = list(dots.series(points, order))
    shown = points.drop(columns="text").assign(marked=points.row.isin(set(group)) if group else True)
    shown = shown.sort_values("series", key=lambda names: names != quiet, kind="stable")  # grey dots lie below
    scale = alt.Scale(domain=[0, diagonal], nice=False) if diagonal else alt.Scale(zero=False, nice=True)
    axis = alt.Axis(grid=False, tickCount=6)
    x, y = alt.X("x:Q", title=axes[0], scale=scale, axis=axis), alt.Y("y:Q", title=axes[1], scale=scale, axis=axis)
    marks = alt.Chart(shown).mark_point(filled=True, size=34).encode(
        x=x, y=y, opacity=alt.condition("datum.marked", alt.value(0.75), alt.value(GREYED)))
    layers = [ink.paint(_diagonal(diagonal, x, y), ink.QUIET, alt.Stroke)] if diagonal else []
    if scored := "value" in shown and bool(shown.value.notna().any()):
        layers.append(ink.paint(marks.transform_filter("!isValid(datum.value)"), ink.QUIET))
    layers.append(marks.encode(**(_scores(shown) if scored else _series(listed, quiet))))
    if len(chosen := shown[shown.row == example]):
        ring = alt.Chart(chosen).mark_point(filled=False, size=160, strokeWidth=2.5, shape="circle").encode(x=x, y=y)
        layers.append(ink.paint(ring, channel=alt.Stroke))
    chart = alt.layer(*layers).resolve_scale(color="independent", shape="independent", stroke="independent")
    return chart.properties(height=SIDE, usermeta=figure.SQUARE)


def _scores(shown: pd.DataFrame) -> dict[str, alt.Color]:
    largest = dots.largest(shown)
    return {"color": alt.Color("value:Q", title="score", scale=alt.Scale(
        domain=[-largest, largest], domainMid=0, range="diverging", clamp=True))}


def _series(listed: list[str], quiet: str) -> dict[str, alt.Color | alt.Shape]:
    tones = [ink.color(ink.QUIET if name == quiet else dots.HUES[index % len(dots.HUES)])
             for index, name in enumerate(listed)]
    shapes = [SHAPES[index // len(dots.HUES) % len(SHAPES)] for index in range(len(listed))]
    legend = alt.Legend(orient="bottom", columns=3, symbolOpacity=1, labelLimit=260)
    return {"color": alt.Color("series:N", title=None, sort=listed, legend=legend,
                               scale=alt.Scale(domain=listed, range=tones)),
            "shape": alt.Shape("series:N", title=None, sort=listed, legend=legend,
                               scale=alt.Scale(domain=listed, range=shapes))}


def _diagonal(end: float, x: alt.X, y: alt.Y) -> alt.Chart:
    return alt.Chart(pd.DataFrame({"x": [0, end], "y": [0, end]})).mark_line(strokeDash=[3, 3], strokeWidth=1).encode(
        x=x, y=y)
