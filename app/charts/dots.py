"""One dot per training example, thousands of them, in the plane or in space: figures of Plotly.

Plotly draws what can be selected with a lasso or turned by hand; the ink is that of all charts (`app.charts.ink`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from app.charts import ink
from engine.desk.datasets import Dataset

ENDS = 0.98
"""The quantile of the values' sizes at which their colours end."""
SVG_UP_TO = 2_000
"""Dots that the browser draws one by one; more are drawn by the graphics card (WebGL)."""
SYMBOLS = ("circle", "diamond", "square", "cross", "x", "triangle-up")
SOLID = ("circle", "diamond", "square", "cross", "x")
"""Those that exist in space."""
FLAGGED = ("known flag", "the others")
"""The series where flags colour the dots, the second in grey."""
MOST_SERIES = 20
"""Series that differ in hue or symbol."""
HUES = (0, 1, 2, 3, 4, 5)
HEIGHT = 430
MARGIN = {"l": 80, "r": 0, "t": 8, "b": 60}
"""Room for labels and title of both axes: where Plotly measures it, it draws every dot twice."""
CAMERA = {"eye": {"x": 1.1, "y": 1.1, "z": 0.8}}


def plane(points: pd.DataFrame, order: Sequence[str], axes: tuple[str, str], group: Collection[int] = (),
          example: int | None = None, diagonal: float | None = None, quiet: str = "") -> dict[str, Any]:
    """points: row, x, y, series, text (what a dot says on hover), one a training example; order: of the series.

    The dots of `group` stand out, and `example` has a ring. diagonal: where the line of equal values ends. quiet: the
    series that is drawn in grey. Where points has `value`, it colours the dots, on a scale around zero.
    """
    kind = "scatter" if len(points) <= SVG_UP_TO else "scattergl"
    traces = [{"type": kind, "x": dots.x.to_numpy(), "y": dots.y.to_numpy(),
               **_look(dots, index, name, group, name == quiet)}
              for index, (name, dots) in enumerate(series(points, order).items())]
    chosen = points[points.row == example]
    if len(chosen):
        traces.append({"type": kind, "x": chosen.x.to_numpy(), "y": chosen.y.to_numpy(), "mode": "markers",
                       "hoverinfo": "skip", "showlegend": False, "marker": _ring()})
    layout = {**_layout(points), "xaxis": _axis(axes[0]), "yaxis": _axis(axes[1]), "hovermode": "closest",
              "dragmode": "pan", "clickmode": "event+select"}
    if diagonal is not None:
        layout["shapes"] = [{"type": "line", "layer": "below", "x0": 0, "y0": 0, "x1": diagonal, "y1": diagonal,
                             "line": {"dash": "dot", "width": 1, "color": ink.tone(ink.QUIET)}}]
    return {"data": traces, "layout": layout}


def space(points: pd.DataFrame, order: Sequence[str], axes: tuple[str, str, str], group: Collection[int] = (),
          example: int | None = None, quiet: str = "") -> dict[str, Any]:
    """The same with a third coordinate z; it is turned by hand."""
    traces = []
    for index, (name, dots) in enumerate(series(points, order).items()):
        inside = dots.row.isin(set(group)).to_numpy()
        look = _look(dots, index, name, (), name == quiet, SOLID)
        look["marker"] |= {"size": [6 if own else 2 for own in inside] if inside.any() else 3}
        traces.append({"type": "scatter3d", **_coordinates(dots), **look})
    chosen = points[points.row == example]
    if len(chosen):
        traces.append({"type": "scatter3d", **_coordinates(chosen), "mode": "markers", "hoverinfo": "skip",
                       "showlegend": False, "marker": _ring()})
    scene = {f"{letter}axis": {"title": {"text": title}, "showbackground": False, "showticklabels": False,
                               "gridcolor": ink.tone(ink.QUIET)}
             for letter, title in zip("xyz", axes, strict=True)}
    return {"data": traces, "layout": {**_layout(points), "scene": {**scene, "aspectmode": "cube", "camera": CAMERA}}}


def series(points: pd.DataFrame, order: Sequence[str]) -> dict[str, pd.DataFrame]:
    """The dots of each series, in the order in which the figure holds them."""
    groups = dict(tuple(points.groupby("series", sort=False)))
    return {name: groups[name] for name in order if name in groups}


def largest(points: pd.DataFrame) -> float:
    """Where the colours of the values end, on both sides of 0."""
    return float(points.value.abs().quantile(ENDS)) or 1.0


def few_classes(dataset: Dataset) -> bool:
    """Whether classes can colour the dots: there are not too many."""
    return dataset.n_classes <= MOST_SERIES


def flagged(dataset: Dataset, rows: Sequence[int] | np.ndarray) -> list[str]:
    """The series, out of FLAGGED, of each training example by its row in a dataset that has flags."""
    assert dataset.flags is not None, "it is offered with flags only"
    return [FLAGGED[0] if flag else FLAGGED[1] for flag in dataset.flags[rows]]


def said(*lines: str) -> str:
    """What a dot says on hover, a line each; Plotly reads some HTML."""
    return "<br>".join(map(escape, lines))


def rows(points: pd.DataFrame, order: Sequence[str], selected: Sequence[Mapping[str, Any]]) -> list[int]:
    """The rows of training examples of the points that Streamlit says are selected; those of no dot are left out."""
    groups, selected_rows = list(series(points, order).values()), []
    for point in selected:
        curve, index = point.get("curve_number", -1), point.get("point_index", point.get("point_number", -1))
        if 0 <= curve < len(groups) and 0 <= index < len(groups[curve]):
            selected_rows.append(int(groups[curve].row.iloc[index]))
    return selected_rows


def _coordinates(dots: pd.DataFrame) -> dict[str, Any]:
    return {letter: dots[letter].to_numpy() for letter in "xyz"}


def _look(dots: pd.DataFrame, index: int, name: str, group: Collection[int], quiet: bool,
          symbols: Sequence[str] = SYMBOLS) -> dict[str, Any]:
    hue = ink.QUIET if quiet else HUES[index % len(HUES)]
    look: dict[str, Any] = {
        "mode": "markers", "name": f"{escape(name)} ({len(dots):,})", "hovertext": dots.text.to_list(),
        "customdata": dots.row.to_list(),
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {"size": 7, "opacity": 0.75, "line": {"width": 0}, "color": ink.tone(hue),
                   "symbol": symbols[(index // len(HUES)) % len(symbols)]}}
    if "value" in dots and dots.value.notna().any():
        look["marker"] |= {"color": dots.value.to_numpy(), "coloraxis": "coloraxis"}
    if group:
        inside = set(group)
        look["selectedpoints"] = [at for at, row in enumerate(dots.row) if row in inside]
    return look


def _ring() -> dict[str, Any]:
    return {"size": 15, "symbol": "circle-open", "color": ink.tone(ink.INK), "line": {"width": 2.5,
                                                                                     "color": ink.tone(ink.INK)}}


def _layout(points: pd.DataFrame) -> dict[str, Any]:
    layout: dict[str, Any] = {"height": HEIGHT, "margin": MARGIN,
                              "legend": {"orientation": "h", "yanchor": "top", "y": -0.2, "x": 0,
                                         "itemsizing": "constant"}}
    if "value" in points:
        end = largest(points)
        layout["coloraxis"] = {"colorscale": ink.DIVERGING, "cmin": -end, "cmax": end, "cmid": 0,
                               "colorbar": {"thickness": 12, "len": 0.7, "tickformat": ".2~g", "outlinewidth": 0}}
        layout["showlegend"] = False
    return layout


def _axis(title: str) -> dict[str, Any]:
    return {"title": {"text": title, "standoff": 10}, "zeroline": False, "showgrid": False, "ticks": "outside",
            "automargin": False}
