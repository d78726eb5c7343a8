"""What is done to an entry of the library: a note, tags, and deleting after a second click."""

from __future__ import annotations

import streamlit as st

from app.widgets.choices import choice
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk.shelves import SHELVES, Entry

_EDITED, _ASKED, _FAULT, _DONE = "library:edited", "library:asked", "library:fault", "library:done"
_OFFERED = "uploads"
"""The uploads that pickers of this session offer."""


def edit(entry: Entry) -> None:
    """Open the form of an entry, or close it."""
    place = (entry.shelf, entry.key)
    st.session_state[_EDITED] = None if st.session_state.get(_EDITED) == place else place
    st.session_state[_ASKED] = None


def edited(entry: Entry) -> bool:
    return st.session_state.get(_EDITED) == (entry.shelf, entry.key)


def ask(entry: Entry | None) -> None:
    """Ask whether an entry is to be deleted."""
    st.session_state[_ASKED] = entry and (entry.shelf, entry.key)
    st.session_state[_EDITED] = None


def asked(entry: Entry) -> bool:
    return st.session_state.get(_ASKED) == (entry.shelf, entry.key)


def annotate(entry: Entry, name: str, note: str, tags: str) -> None:
    """Keep name, note and tags; the form stays open where they make no sense."""
    try:
        SHELVES[entry.shelf].annotate(entry.key, name, note, tags)
    except WhichfluenceError as error:
        st.session_state[_FAULT] = str(error)
    else:
        st.session_state[_DONE], st.session_state[_EDITED] = "Kept.", None


def delete(entry: Entry) -> None:
    """Delete an entry, and take it out of what this session has chosen."""
    st.session_state[_ASKED] = None
    shelf = SHELVES[entry.shelf]
    try:
        shelf.delete(entry.key)
    except WhichfluenceError as error:
        st.session_state[_FAULT] = str(error)
        return
    st.session_state[_DONE] = f"“{entry.title}” was deleted."
    if shelf.parameter and choice.texts(shelf.parameter) == [entry.key]:
        choice.forget(shelf.parameter)
    if entry.key in st.session_state.get(_OFFERED, ()):
        st.session_state[_OFFERED].remove(entry.key)


def said() -> None:
    """What became of the last click."""
    if fault := st.session_state.pop(_FAULT, None):
        st.error(sentence(fault), icon=":material/error:")
    if done := st.session_state.pop(_DONE, None):
        st.success(sentence(done), icon=":material/check:")
