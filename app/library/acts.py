"""What is done to an entry of the library: a note, tags, and deleting after a second click."""

from __future__ import annotations

import streamlit as st

from app.widgets.choices import choice
from app.widgets.words.plain_text import sentence
from engine.desk.shelves import SHELVES, Entry

_EDITED, _CONFIRMING = "library:edited", "library:asked"
_OFFERED = "uploads"
"""The uploads that pickers of this session offer."""


def edit(entry: Entry) -> None:
    """Open the form of an entry, or close it."""
    name = (entry.shelf, entry.key)
    st.session_state[_EDITED] = None if st.session_state.get(_EDITED) == name else name
    st.session_state[_CONFIRMING] = None


def edited(entry: Entry) -> bool:
    return st.session_state.get(_EDITED) == (entry.shelf, entry.key)


def ask(entry: Entry | None) -> None:
    """Ask whether an entry is to be deleted."""
    st.session_state[_CONFIRMING] = entry and (entry.shelf, entry.key)
    st.session_state[_EDITED] = None


def confirming(entry: Entry) -> bool:
    return st.session_state.get(_CONFIRMING) == (entry.shelf, entry.key)


def annotate(entry: Entry, name: str, note: str, tags: str) -> None:
    """Keep name, note and tags; the form stays open where they make no sense."""
    SHELVES[entry.shelf].annotate(entry.key, name, note, tags)
    st.session_state[_EDITED] = None
    st.toast("Kept.", icon=":material/check:")


def delete(entry: Entry) -> None:
    """Delete an entry, and take it out of what this session has chosen."""
    st.session_state[_CONFIRMING] = None
    shelf = SHELVES[entry.shelf]
    shelf.delete(entry.key)
    if shelf.parameter and choice.texts(shelf.parameter) == [entry.key]:
        choice.forget(shelf.parameter)
    if entry.key in st.session_state.get(_OFFERED, ()):
        st.session_state[_OFFERED].remove(entry.key)
    st.toast(sentence(f"“{entry.title}” was deleted."), icon=":material/check:")
