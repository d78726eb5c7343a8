"""Ink that follows the reader's theme.

Marks that Vega draws as text are black in any theme. The categorical palette of `.streamlit/config.toml` ends with
the theme's ink and with the ink on a strong fill, so text takes its colour from there.
"""

import altair as alt

_PALETTE = list(range(9))
ACCENT, QUIET, INK, ON_STRONG = 1, 6, 7, 8


def paint(chart: alt.Chart, place: int = INK, channel: type = alt.Color) -> alt.Chart:
    """The chart with one colour of the theme's palette as its fill, or as its `channel` (alt.Stroke)."""
    tone = channel("tone:O", scale=alt.Scale(domain=_PALETTE, range="category"), legend=None)
    return chart.transform_calculate(tone=str(place)).encode(tone)
