"""The picture of the training example whose dot is under the pointer, above what the dot says.

A label of Plotly holds text alone. The pictures of all dots travel as one sheet, once, and a small component cuts the
one out that is asked for: nothing is sent while the pointer moves.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import streamlit as st
from PIL import Image

from app.widgets.examples import record_text
from app.widgets.words import look
from engine.desk.datasets import Dataset

MOST = 2_000
"""Dots up to which their pictures travel with a chart."""
_SCRIPT = look.text("dot-pictures.js")
_mounted = st.components.v2.component("whichfluence_dot_pictures", js=_SCRIPT, isolate_styles=False,
                                      html='<div class="wf-hovered" aria-hidden="true" hidden></div>')


@contextmanager
def shown(dataset: Dataset, indices: Sequence[int], rows: Sequence[int]) -> Iterator[None]:
    """Charts of dots that are drawn within show the pictures of `rows`; indices: of these in the dataset's train
    split. No more than MOST travel, and none of what is no picture."""
    with st.container(key="wf-dots", gap=None):
        yield
        if dataset.image_shape is not None and 0 < len(rows) <= MOST:
            high, wide = dataset.image_shape[:2]
            order = np.argsort(rows)
            url = sheet(dataset.key, tuple(int(indices[index]) for index in order), dataset)
            with st.container(key="wf-hovered"):
                _mounted(key="dot-pictures", data={"url": url, "across": across(len(rows)), "wide": wide, "high": high,
                                                   "rows": [int(rows[index]) for index in order]})


def across(count: int) -> int:
    """Pictures in a row of a sheet of so many."""
    return int(np.ceil(np.sqrt(count)))


@st.cache_data(show_spinner=False, max_entries=12)
def sheet(key: str, indices: tuple[int, ...], _dataset: Dataset) -> str:
    """The data URL of a PNG with these pictures of the train split, row by row, `across` of them in each. key: of
    the dataset."""
    images = [picture for index in indices if (picture := _dataset.image("train", index)) is not None]
    pixels = np.stack(images)  # (n, h, w) or (n, h, w, 3)
    columns = across(len(pixels))
    missing = -len(pixels) % columns
    pixels = np.concatenate([pixels, np.zeros((missing, *pixels.shape[1:]), np.uint8)])
    rows = pixels.reshape(-1, columns, *pixels.shape[1:])  # (r, c, h, w, …)
    whole = np.concatenate(list(np.concatenate(list(rows.swapaxes(0, 1)), axis=2)), axis=0)
    buffer = io.BytesIO()
    Image.fromarray(whole).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def description(dataset: Dataset) -> Callable[[int], list[str]]:
    """What else a dot says of an example of the train split, by its index: its file, or its first words."""
    if dataset.records is not None:
        records = dataset.records[0]
        return lambda index: [record_text.short(records[index])]
    return lambda index: [dataset.files[index]] if dataset.files else []
