"""What the Library page shows, chosen and kept in the address: words, a shelf, a tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from app.widgets.choices.selectors import pick, text
from app.widgets.words.plain_text import plain
from engine.desk import shelves
from engine.desk.shelves import SHELVES, Entry

ALL = "all"


def chosen(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that are looked for."""
    left, middle, right = st.columns([3, 2, 2], gap="medium")
    words = text("find", "Find", "", area=left, placeholder="Words in a title, note or tag", max_chars=200,
                 icon=":material/search:")
    counts = Counter(entry.shelf for entry in entries)
    shelf = pick("shelf", "Kind", [ALL, *SHELVES], ALL, lambda name: _called(name, len(entries), counts), area=middle)
    tags = [tag for tag, _ in Counter(tag for entry in entries for tag in entry.noted.tags).most_common()]
    tag = pick("tag", "Tag", ["", *tags], "", lambda name: plain(name) if name else "Any", area=right,
               help=None if tags else "Give entries tags, then choose one here.")
    return shelves.matching(entries, words, "" if shelf == ALL else shelf, tag)


def _called(name: str, total: int, counts: Counter) -> str:
    return f"Everything ({total})" if name == ALL else f"{SHELVES[name].title} ({counts[name]})"
