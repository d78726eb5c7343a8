"""Charts on the page, those of Vega-Lite built once for each table; Plotly draws what needs a lasso or depth.

Building an Altair chart and checking it against its schema takes longer than all else on a page, so the finished
Vega-Lite specification is kept for a few tables and handed to Streamlit as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import altair as alt
import streamlit as st

from app.charts import figure
from app.charts.enlarged import enlarging, sized
from app.widgets.results import figures


def draw(build: Callable[..., alt.TopLevelMixin], *arguments: Any, alt: str, key: str, caption: str = "",
         **options: Any) -> Any:
    """Draw `build(*arguments)` as wide as its column; `options` are those of `st.altair_chart`.

    caption: what stands below it in a file (default: `alt`). With one, other data move the marks of the chart on the
    page, where `alt`, which is part of the chart, and all but its data stay the same.
    """
    spec = sized(_specification(f"{build.__module__}.{build.__name__}", bool(caption), build, *arguments))
    if isinstance(spec.get("height"), int) and "autosize" not in spec:
        options.setdefault("height", spec["height"])  # the place is kept while the chart is still being drawn
    where = st.container(key=f"wf-moving-{key}") if caption else st
    event = where.vega_lite_chart(spec=spec, width="stretch", key=key, alt=alt, **options)
    if not enlarging():
        figures.offer(key, caption or alt, lambda: spec)
    return event


def steady(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification with its tables named by their order: Altair names them by their content, so that other data are
    another chart."""
    tables = spec.get("datasets", {})
    text = json.dumps({name: value for name, value in spec.items() if name != "datasets"})
    for index, name in enumerate(tables):
        text = text.replace(f'"{name}"', f'"table {index}"')
    return {**json.loads(text), "datasets": {f"table {index}": rows for index, rows in enumerate(tables.values())}}


def plot(drawn: dict[str, Any], alt: str, key: str, flat: Callable[[], alt.TopLevelMixin] | None = None,
         name: str = "", **options: Any) -> Any:
    """Draw a figure of Plotly, given as plain data, as wide as its column; `options` are those of `st.plotly_chart`.
    flat: the same as a chart of Altair, which its files have; None where it has depth. name: what `chart_extras` calls
    it (default: its key)."""
    event = st.plotly_chart(drawn, width="stretch", height=drawn["layout"]["height"], theme="streamlit", key=key,
                            alt=alt, config=CONFIG, **options)
    if flat is not None:
        figures.offer(name or key, alt, lambda: figure.specification(flat()))
    else:
        figures.offer_turned(name or key, alt, drawn)
    return event


CONFIG = {"displayModeBar": True, "displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d", "toImage"]}

ROWS = {"axisYDiscrete": {"labelFlush": False}}
"""Vega-Lite's configuration: names stand beside their rows, of which Streamlit's would push the first one down."""


@st.cache_data(show_spinner=False, max_entries=60)
def _specification(name: str, moves: bool, _build: Callable[..., alt.TopLevelMixin], *arguments: Any
                   ) -> dict[str, Any]:
    spec = figure.specification(_build(*arguments))
    spec = steady(spec) if moves else spec
    return {**spec, "config": {**ROWS, **spec.get("config", {})}}
