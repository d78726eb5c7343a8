"""The line that marks an example: what it is, what it was computed on, and one click to data of one's own."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

import streamlit as st

from app.widgets.pickers import upload
from app.widgets.words import glossary
from app.widgets.words.times import spell
from engine.desk import datasets
from engine.desk.shelves import Result

LABEL = "My own data"


def mark(dataset: str, run: Result | None = None, texts: bool = True, done: str = "Computed",
         others: Collection[str] = ()) -> None:
    """Above what a page opens with, while its data are those that every page begins with; nothing for other data.

    run: the finished run that came with the program, where the page shows one. texts: whether own data may be those of
    a language model. done: what was done beforehand. others: further data that are an example on this page.
    """
    if dataset not in (datasets.FIRST, *others):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="wf-shipped", width="content"):
        tag(sentence(dataset, run, done))
        if st.button(LABEL, key="example:own", icon=":material/upload:", type="tertiary"):
            _own(texts)


def tag(what: str) -> None:
    """The mark itself, with what the example is."""
    glossary.html(f'<span class="wf-shipped">Example</span> {escape(what)}', width="content")


def sentence(dataset: str, run: Result | None, done: str = "Computed") -> str:
    """What the example is; of a run also that it was done beforehand, on what, and how long it took."""
    title = f"{datasets.title(dataset)}, part of the program"
    if run is None:
        return f"{title}."
    took, device = run.manifest["wall_seconds"], run.manifest["device"]
    return f"{title}. {done} beforehand, in {spell(took)} on {device}."


@st.dialog(LABEL, width="large")
def _own(texts: bool) -> None:
    upload.body("own", texts)
