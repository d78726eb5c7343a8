"""Ink that follows the reader's theme.

Marks that Vega draws as text are black in any theme. The categorical palette of `.streamlit/config.toml` ends with
the theme's ink, so text takes its colour from there. In figures of Plotly, Streamlit's page puts the same palettes in
the index of marked colours.
"""

from __future__ import annotations

import re
from typing import Any

import altair as alt
import pandas as pd

from app.charts import palette

_PALETTE = list(range(8))
ACCENT, QUIET, INK = 1, 6, 7


def tone(index: int) -> str:
    """One colour of the categorical palette, as a Plotly figure names it."""
    return f"#{index + 1:06d}"


SEQUENTIAL = [[index / 9, f"#{index + 11:06d}"] for index in range(10)]
DIVERGING = [[index / 9, f"#{index + 21:06d}"] for index in range(10)]
"""Colour scales of the theme, as a Plotly figure names them."""


def light(node: Any) -> Any:
    """A figure of Plotly with the colours of the light theme in place of their numbers."""
    if isinstance(node, dict):
        return {name: light(value) for name, value in node.items()}
    if isinstance(node, list | tuple):
        return [light(value) for value in node]
    return _color(int(node[1:])) if isinstance(node, str) and re.fullmatch(r"#0000\d\d", node) else node


def color(index: int) -> str:
    """One colour of the categorical palette of the light theme."""
    return _color(index + 1)


def _color(number: int) -> str:
    """The colour of a number: of the categorical palette below 10, then of the sequential and the diverging ramp."""
    if number < 10:
        return palette.theme("light")["chartCategoricalColors"][number - 1]
    ramp, step = divmod(number - 11, 10)
    return palette.theme("light")[(palette.SEQUENTIAL, palette.DIVERGING)[ramp]][step]


def paint(chart: alt.Chart, index: int = INK, channel: type = alt.Color) -> alt.Chart:
    """The chart with one colour of the theme's palette as its fill, or as its `channel` (alt.Stroke)."""
    tone = channel("tone:O", scale=alt.Scale(domain=_PALETTE, range="category"), legend=None)
    return chart.transform_calculate(tone=str(index)).encode(tone)


def named(indices: dict[str, int]) -> alt.Scale:
    """A scale that gives each name its colour of the theme's palette, so that it follows light and dark."""
    names = {index: name for name, index in indices.items()}
    return alt.Scale(domain=[names.get(index, f"unused {index}") for index in _PALETTE], range="category")


def limit(y: alt.Y, field: str, value: float, text: str) -> list[alt.Chart]:
    """A dashed line across a chart at a value of `field`, with its name."""
    frame = pd.DataFrame({field: [value], "label": [text]})
    rule = alt.Chart(frame).mark_rule(strokeDash=[2, 3], strokeWidth=1.4)
    label = alt.Chart(frame).mark_text(align="left", baseline="bottom", dx=4, dy=-2, fontSize=11)
    return [paint(rule, QUIET, alt.Stroke).encode(y=y), paint(label.encode(x=alt.value(0), text="label:N")).encode(y=y)]
