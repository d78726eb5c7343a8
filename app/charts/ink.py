"""Ink that follows the reader's theme.

Marks that Vega draws as text are black in any theme. The categorical palette of `.streamlit/config.toml` ends with
the theme's ink and with the ink on a strong fill, so text takes its colour from there. In figures of
Plotly, Streamlit's page puts the same palettes in the place of marked colours.
"""

import altair as alt

_PALETTE = list(range(9))
ACCENT, QUIET, INK, ON_STRONG = 1, 6, 7, 8


def tone(place: int) -> str:
    """One colour of the categorical palette, as a Plotly figure names it."""
    return f"#{place + 1:06d}"


SEQUENTIAL = [[place / 9, f"#{place + 11:06d}"] for place in range(10)]
DIVERGING = [[place / 9, f"#{place + 21:06d}"] for place in range(10)]
"""Colour scales of the theme, as a Plotly figure names them."""


def paint(chart: alt.Chart, place: int = INK, channel: type = alt.Color) -> alt.Chart:
    """The chart with one colour of the theme's palette as its fill, or as its `channel` (alt.Stroke)."""
    tone = channel("tone:O", scale=alt.Scale(domain=_PALETTE, range="category"), legend=None)
    return chart.transform_calculate(tone=str(place)).encode(tone)
