"""Ink that follows the reader's theme.

Marks that Vega draws as text are black in any theme. The categorical palette of `.streamlit/config.toml` ends with
the theme's ink and with the ink on a strong fill, so text takes its colour from there. In figures of
Plotly, Streamlit's page puts the same palettes in the index of marked colours.
"""

import altair as alt
import pandas as pd

_PALETTE = list(range(9))
ACCENT, QUIET, INK, ON_STRONG = 1, 6, 7, 8


def tone(index: int) -> str:
    """One colour of the categorical palette, as a Plotly figure names it."""
    return f"#{index + 1:06d}"


SEQUENTIAL = [[index / 9, f"#{index + 11:06d}"] for index in range(10)]
DIVERGING = [[index / 9, f"#{index + 21:06d}"] for index in range(10)]
"""Colour scales of the theme, as a Plotly figure names them."""


def paint(chart: alt.Chart, index: int = INK, channel: type = alt.Color) -> alt.Chart:
    """The chart with one colour of the theme's palette as its fill, or as its `channel` (alt.Stroke)."""
    tone = channel("tone:O", scale=alt.Scale(domain=_PALETTE, range="category"), legend=None)
    return chart.transform_calculate(tone=str(index)).encode(tone)


def limit(y: alt.Y, field: str, value: float, text: str) -> list[alt.Chart]:
    """A dashed line across a chart at a value of `field`, with its name."""
    frame = pd.DataFrame({field: [value], "label": [text]})
    rule = alt.Chart(frame).mark_rule(strokeDash=[2, 3], strokeWidth=1.4)
    label = alt.Chart(frame).mark_text(align="left", baseline="bottom", dx=4, dy=-2, fontSize=11)
    return [paint(rule, QUIET, alt.Stroke).encode(y=y), paint(label.encode(x=alt.value(0), text="label:N")).encode(y=y)]
