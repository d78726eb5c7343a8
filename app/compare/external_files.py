"""Files of external scores: taking one in, which one the address names, and the list of those that are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from app.widgets.choices import choice
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from app.widgets.words.times import written
from engine.basics.errors import WhichfluenceError
from engine.desk import external
from engine.desk.external import AUTO, CHOICES, MOST_BYTES, READERS, KeptTable, Numbering, Table, check, read_table

NAME = "brought"
ROUND = "bring:round"
"""Counts what was taken in: the uploader then starts anew, so that a file is read once."""
KINDS = [suffix.removeprefix(".") for suffix in READERS]


def chosen() -> str | None:
    """The digest that the address names."""
    return choice.one(NAME, "", _digest) or None


def _digest(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise ValueError("it is not the digest of external scores")
    return text


def notice() -> None:
    """Says at the head of the page what a link names and this machine lacks; the panel below takes it in."""
    try:
        if chosen() is not None:
            external.require(chosen())
    except WhichfluenceError as error:
        st.warning(f"{sentence(error)} Upload it under *Bring scores of another program*, at the foot of this "
                   "page.", icon=":material/link_off:")


def table() -> tuple[Table, KeptTable] | None:
    """The chosen table; None without one. Raises `MissingData` where it is not on this machine."""
    digest = chosen()
    if digest is None:
        return None
    external.require(digest)
    return _loaded(digest, str(desk().jobs.root))


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded(digest: str, root: str) -> tuple[Table, KeptTable]:
    return external.load(digest)


def uploader(problem, forgotten: Sequence[str]) -> None:
    """Takes a file in, and lists what is kept. forgotten: choices that were made for another table."""
    state, known = st.session_state, Numbering.of(problem)
    left, right = st.columns([3, 2], gap="large")
    file = left.file_uploader("File with scores", type=KINDS, key=f"bring:file:{state.get(ROUND, 0)}",
                              help=f"{', '.join(KINDS)}, up to {MOST_BYTES // 1_000_000} MB; never unpickled.")
    key = right.text_input("Array in the file", key="bring:key", help="Only where the file holds several tables.")
    with right:
        _list(forgotten)
    if file is None:
        return
    try:
        read = read_table(file, file.name, key.strip(), AUTO, known)
        if read.first_row.doubt:
            first_row = left.radio(read.first_row.doubt, list(CHOICES), index=None, format_func=CHOICES.get,
                                   key="bring:first-row")
            if first_row is None:
                return
            file.seek(0)
            read = read_table(file, file.name, key.strip(), first_row, known)
        check(problem, read)
        digest = external.keep(read, file.name)
    except WhichfluenceError as error:
        left.error(sentence(error), icon=":material/error:")
        return
    state[ROUND] = state.get(ROUND, 0) + 1
    _choose(digest, forgotten)
    st.rerun()


def _choose(digest: str, forgotten: Sequence[str]) -> None:
    if chosen() != digest:
        for name in forgotten:
            choice.put(name, [])
    choice.keep(NAME, digest or [])


def _list(forgotten: Sequence[str]) -> None:
    """What is kept, each to be used or deleted."""
    stored, current = external.entries(), chosen()
    here = next((one for one in stored if one.digest == current), None)
    if here is not None:
        st.caption(f"In use: **{plain(here.file)}**, {_shape(here)}, digest `{here.digest[:12]}`")
    row = st.container(horizontal=True)
    if current is not None:
        row.button("Leave out", icon=":material/close:", key="bring:leave", on_click=_choose, args=("", forgotten),
                   help="Takes the scores out of this view; the file stays in the list.")
    if not stored:
        return
    with row.popover(f"Kept files ({len(stored)})", icon=":material/folder_open:"):
        for one in stored:
            when = written(one.written, st.context.timezone)
            st.markdown(f"**{plain(one.file)}**  \n{_shape(one)} · {when} · `{one.digest[:12]}`")
            buttons = st.container(horizontal=True)
            buttons.button("Use", key=f"bring:use:{one.digest}", disabled=one.digest == current, on_click=_choose,
                           args=(one.digest, forgotten))
            buttons.button("Delete", key=f"bring:delete:{one.digest}", icon=":material/delete:", on_click=_delete,
                           args=([one.digest], forgotten))
        if len(stored) > 1:
            st.button(f"Delete all {len(stored)}", key="bring:delete-all", icon=":material/delete_sweep:",
                      on_click=_delete, args=([one.digest for one in stored], forgotten))
        glossary.caption("Saved comparisons and links that name a deleted file ask for it again.")


def _delete(digests: Sequence[str], forgotten: Sequence[str]) -> None:
    for digest in digests:
        external.delete(digest)
        _loaded.clear()
        if chosen() == digest:
            _choose("", forgotten)


def _shape(stored: KeptTable) -> str:
    return " × ".join(f"{size:,}" for size in stored.shape)
