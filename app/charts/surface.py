"""A surface over two grids, turned by hand, with one of its slices: a figure of Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.charts import ink
from engine.basics.values import short

HEIGHT = 470
LIFT = 0.004
"""How far the slice is drawn above the surface, so that it is seen, as a fraction of its range."""


def surface(values: np.ndarray, rows: Sequence[float], columns: Sequence[float], axes: tuple[str, str, str],
            slice_name: str) -> dict[str, Any]:
    """values: (rows, columns), undefined ones NaN. The grids stand evenly spaced; the first column is the slice."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    across, up = np.arange(len(rows)), np.arange(len(columns))
    said = [[f"{axes[0]} {short(row)}<br>{axes[1]} {short(column)}<br>{axes[2]} {value:.3f}" for row, value in zip(
        rows, row_values, strict=True)] for column, row_values in zip(columns, values.T, strict=True)]
    traces = [
        {"type": "surface", "x": across, "y": up, "z": values.T, "text": np.array(said), "colorscale": ink.SEQUENTIAL,
         "hovertemplate": "%{text}<extra></extra>", "cmin": low, "cmax": max(high, low + 1e-9),
         "colorbar": {"thickness": 12, "len": 0.6, "tickformat": ".2f", "outlinewidth": 0},
         "contours": {axis: {"show": True, "start": 0, "end": len(grid) - 1, "size": 1, "color": ink.tone(ink.QUIET)}
                      for axis, grid in (("x", rows), ("y", columns))}},
        {"type": "scatter3d", "x": across, "y": np.zeros(len(rows)), "z": values[:, 0] + LIFT * (high - low),
         "mode": "lines+markers", "name": slice_name, "hoverinfo": "skip", "showlegend": True,
         "line": {"width": 7, "color": ink.tone(ink.ACCENT)}, "marker": {"size": 3, "color": ink.tone(ink.ACCENT)}}]
    scene = {"xaxis": _axis(axes[0], rows), "yaxis": _axis(axes[1], columns),
             "zaxis": {"title": {"text": axes[2]}, "showbackground": False, "gridcolor": ink.tone(ink.QUIET)},
             "camera": {"eye": {"x": 1.55, "y": -1.65, "z": 0.8}}, "aspectratio": {"x": 1.3, "y": 1, "z": 0.8}}
    return {"data": traces, "layout": {"height": HEIGHT, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}, "scene": scene,
                                       "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0,
                                                  "x": 0}}}


def _axis(title: str, grid: Sequence[float]) -> dict[str, Any]:
    return {"title": {"text": title}, "tickvals": list(range(len(grid))), "ticktext": [short(value) for value in grid],
            "showbackground": False, "gridcolor": ink.tone(ink.QUIET)}
