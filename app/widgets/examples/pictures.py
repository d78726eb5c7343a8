"""Training examples and queries as small pictures, pixels kept square and sharp."""

from __future__ import annotations

import base64
import io
from html import escape

import streamlit as st
from PIL import Image

from engine.desk import datasets
from engine.desk.datasets import Dataset


def html(dataset: Dataset, split: str, index: int, side: int, alt: str) -> str:
    """An `<img>` of one example, `side` pixels wide; where examples are not pictures, its number. Of pictures that
    are read by embeddings, as they came."""
    address = data_url(dataset.key, split, index, dataset) or original_url(dataset, split, index, 2 * side)
    if address is None:
        return f'<span class="wf-picture wf-num">#{index}</span>'
    return (f'<img class="wf-picture" src="{address}" width="{side}" height="{side}" alt="{escape(alt)}" '
            f'title="{escape(alt)}">')


def as_it_came(dataset: Dataset, split: str, index: int, side: int, alt: str) -> str:
    """An `<img>` of a picture of a kept zip as it came, within side × side pixels; of other examples as `html`."""
    address = original_url(dataset, split, index, 2 * side)
    if address is None:
        return html(dataset, split, index, side, alt)
    return (f'<img class="wf-picture" src="{address}" width="{side}" height="{side}" style="object-fit:contain" '
            f'alt="{escape(alt)}" title="{escape(alt)}">')


def original_url(dataset: Dataset, split: str, index: int, side: int) -> str | None:
    """The data URL of a thumbnail of a picture of a kept zip; None where an example is none, or cannot be read."""
    files = dataset.files if split == "train" else dataset.test_files
    if not files or not datasets.is_upload(dataset.name):
        return None
    return thumbnail(dataset.name, files[index], side)


@st.cache_data(show_spinner=False, max_entries=2_000)
def thumbnail(name: str, file: str, side: int) -> str | None:
    """The data URL of a picture of a kept zip, by its file; None where it is none, or cannot be read."""
    packed = datasets.thumbnail(name, file, side)
    return None if packed is None else "data:image/png;base64," + base64.b64encode(packed).decode()


@st.cache_data(show_spinner=False, max_entries=2_000)
def data_url(key: str, split: str, index: int, _dataset: Dataset) -> str | None:
    """The PNG of an example as a data URL, in its own resolution; None where examples are not pictures. key: of the
    dataset."""
    pixels = _dataset.image(split, index)
    if pixels is None:
        return None
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
