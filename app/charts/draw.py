"""Charts on the page, built once for each table.

Building an Altair chart and checking it against its schema takes longer than all else on a page, so the finished
Vega-Lite specification is kept for a few tables and handed to Streamlit as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import streamlit as st


def draw(build: Callable[..., alt.TopLevelMixin], *arguments: Any, alt: str, key: str, **options: Any):
    """Draw `build(*arguments)` as wide as its column; `options` are those of `st.altair_chart`."""
    spec = _specification(f"{build.__module__}.{build.__name__}", build, *arguments)
    if isinstance(spec.get("height"), int):
        options.setdefault("height", spec["height"])  # the place is kept while the chart is still being drawn
    return st.vega_lite_chart(spec=spec, width="stretch", key=key, alt=alt, **options)


@st.cache_data(show_spinner=False, max_entries=60)
def _specification(name: str, _build: Callable[..., alt.TopLevelMixin], *arguments: Any) -> dict[str, Any]:
    with alt.theme.enable("none"):
        return _build(*arguments).to_dict(validate=False)
