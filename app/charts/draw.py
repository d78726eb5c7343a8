"""Charts on the page, those of Vega-Lite built once for each table; Plotly draws what needs a lasso or depth.

Building an Altair chart and checking it against its schema takes longer than all else on a page, so the finished
Vega-Lite specification is kept for a few tables and handed to Streamlit as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import streamlit as st

from app.charts.enlarged import sized


def draw(build: Callable[..., alt.TopLevelMixin], *arguments: Any, alt: str, key: str, **options: Any):
    """Draw `build(*arguments)` as wide as its column; `options` are those of `st.altair_chart`."""
    spec = sized(_specification(f"{build.__module__}.{build.__name__}", build, *arguments))
    if isinstance(spec.get("height"), int) and "autosize" not in spec:
        options.setdefault("height", spec["height"])  # the place is kept while the chart is still being drawn
    return st.vega_lite_chart(spec=spec, width="stretch", key=key, alt=alt, **options)


def plot(figure: dict[str, Any], alt: str, key: str, **options: Any) -> Any:
    """Draw a figure of Plotly, given as plain data, as wide as its column; `options` are those of `st.plotly_chart`."""
    return st.plotly_chart(figure, width="stretch", height=figure["layout"]["height"], theme="streamlit", key=key,
                           alt=alt, config=CONFIG, **options)


CONFIG = {"displayModeBar": True, "displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d", "toImage"]}

ROWS = {"axisYDiscrete": {"labelFlush": False}}
"""Vega-Lite's configuration: names stand beside their rows, of which Streamlit's would push the first one down."""


@st.cache_data(show_spinner=False, max_entries=60)
def _specification(name: str, _build: Callable[..., alt.TopLevelMixin], *arguments: Any) -> dict[str, Any]:
    with alt.theme.enable("none"):
        spec = _build(*arguments).to_dict(validate=False)
    return {**spec, "config": {**ROWS, **spec.get("config", {})}}
