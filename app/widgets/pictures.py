"""Training examples and queries as small pictures, pixels kept square and sharp."""

from __future__ import annotations

import base64
import io
from html import escape

import streamlit as st
from PIL import Image

from engine.data import Dataset


def html(dataset: Dataset, split: str, index: int, side: int, alt: str) -> str:
    """An `<img>` of one example, `side` pixels wide; where examples are not pictures, its number."""
    address = data_url(dataset.name, split, index, dataset)
    if address is None:
        return f'<span class="wf-picture wf-num">#{index}</span>'
    return (f'<img class="wf-picture" src="{address}" width="{side}" height="{side}" alt="{escape(alt)}" '
            f'title="{escape(alt)}">')


@st.cache_data(show_spinner=False, max_entries=2_000)
def data_url(name: str, split: str, index: int, _dataset: Dataset) -> str | None:
    """The PNG of an example as a data URL, in its own resolution; None where examples are not pictures."""
    pixels = _dataset.image(split, index)
    if pixels is None:
        return None
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
