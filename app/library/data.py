"""What the Library page asks of the engine: all entries, those that are looked for, and their small pictures."""

from __future__ import annotations

import streamlit as st

from app.widgets.jobs.desk import desk
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk.shelves import SHELVES, Entry, Sketch


def everything() -> list[Entry]:
    """Every entry, the newest first; a shelf that cannot be read says so and leaves the others standing."""
    entries: list[Entry] = []
    for shelf in SHELVES.values():
        try:
            entries += shelf.entries()
        except WhichfluenceError as error:
            st.error(f"{shelf.title}: {sentence(error)}", icon=":material/error:")
    return sorted(entries, key=lambda entry: entry.created.replace("Z", "+00:00"), reverse=True)


def sketch(entry: Entry) -> Sketch | None:
    """What the small picture of an entry is drawn from; None where there is none, or it cannot be had."""
    if entry.trouble:
        return None
    try:
        return _sketch(str(desk().jobs.root), entry.shelf, entry.key, entry.created)
    except (WhichfluenceError, OSError):
        return None


@st.cache_data(show_spinner=False, max_entries=500)
def _sketch(root: str, shelf: str, key: str, created: str) -> Sketch | None:
    return SHELVES[shelf].sketch(key)
