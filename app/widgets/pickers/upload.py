"""Takes a user's own data: a file, or the sample. Where a table leaves open which column holds its labels, asks."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import BinaryIO

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.frame.guard import guarded, once
from app.widgets.results import downloads
from app.widgets.words.plain_text import plain, sentence
from engine.basics.sizes import spell_bytes
from engine.desk import datasets

ACCEPTED = ("A zip of images (one folder per class, or a table of files and labels), an npz with x_train, y_train, "
            "x_query, y_query, or a table with a column of labels (CSV, TSV, Parquet, Arrow, JSONL)")
ACCEPTED_TEXTS = ", or texts as JSONL (prompt and response, messages, or instruction and output)."
TYPES = ("npz", "zip", "parquet", "csv", "tsv", "txt", "arrow", "feather", "json", "jsonl")
UNCLEAR, LABEL = "upload:unclear", "upload:label"
"""Where a session holds what is unclear of its last upload, None where nothing is, and the column that is chosen."""
NEW = "upload:new"
"""Where a session holds that the chosen data have just come."""


def show(texts: bool = True) -> None:
    """Takes the user's own data and chooses it. texts: whether they may be those of a language model."""
    with st.expander("Use my own data"):
        body("upload", texts)


def body(key: str, texts: bool) -> None:
    """The uploader itself. key: of its widgets."""
    file = st.file_uploader(ACCEPTED + (ACCEPTED_TEXTS if texts else "."), type=list(TYPES), key=key)
    if file is None:
        _sample(key)
        return
    with st.spinner(f"Reading {plain(file.name)}, {spell_bytes(file.size)}…", show_time=True):
        once(key, file.file_id, lambda: _take(file, texts))
    if unclear := st.session_state[UNCLEAR]:
        _ask(file, *unclear)


def take(name: str) -> None:
    """Choose a kept upload, or a reading of one."""
    uploads = st.session_state.setdefault("uploads", [])
    if name not in uploads:
        uploads.append(name)
    choice.put("data", name)


def are_new() -> bool:
    """Whether the chosen data have just come, so that choices made for others do not hold; once for each upload."""
    return st.session_state.pop(NEW, False)


def _take_new(name: str) -> None:
    take(name)
    st.session_state[NEW] = True


def _take(file: BinaryIO, texts: bool) -> None:
    st.session_state[UNCLEAR] = None
    try:
        name = datasets.keep(file, file.name)
    except datasets.UnclearLabels as error:
        st.session_state.update({UNCLEAR: (str(error), error.choices), LABEL: next(iter(error.choices))})
        return
    if datasets.holds_records(name) and not texts:
        st.warning("These are records of a language model: use them on **Compare** or **Language models**.",
                   icon=":material/chat:")
        return
    _take_new(name)
    st.rerun()


def _ask(file: BinaryIO, why: str, choices: Mapping[str, str]) -> None:
    """Which column of a table holds the labels. choices: column -> what it holds, the guess first."""
    st.info(sentence(why), icon=":material/help:")
    with st.form("upload:labels", border=False):
        label = inputs.selectbox("Column of the labels", list(choices), key=LABEL,
                                 format_func=lambda column: f"{column[:60]} ({choices[column]})")
        pressed = st.form_submit_button("Import with these settings", icon=":material/check:")
    if pressed:
        with guarded("This table"):
            file.seek(0)
            _take_new(datasets.keep(file, file.name, label=label))
            st.session_state[UNCLEAR] = None
            st.rerun()


def _sample(key: str) -> None:
    """A zip to try the way of one's own pictures with."""
    if st.button("Try a sample zip", key=f"{key}:sample", icon=":material/checkroom:",
                 help=f"{datasets.EACH} images of each of ten kinds of clothing, a tenth of them in the wrong "
                      "folder. It is imported like your own zip."):
        _take_new(datasets.keep(BytesIO(datasets.sample_zip()), datasets.SAMPLE_ZIP))
        st.rerun()
    downloads.file_button("The sample zip", datasets.sample_zip, datasets.SAMPLE_ZIP, "application/zip",
                          f"{key}:sample:file")
