"""The entries of the library: one card each, to be opened, annotated and deleted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from html import escape

import streamlit as st

from app.library import acts, data, thumbnail
from app.widgets.choices import choice
from app.widgets.jobs import job_panel
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from app.widgets.words.times import spell, written
from engine.desk.shelves import LONGEST_NAME, LONGEST_NOTE, SHELVES, Entry

FIRST, MORE = 12, "library:more"


def show(entries: Sequence[Entry], total: int) -> None:
    """The cards, a few at first."""
    glossary.caption(_counted(len(entries), total))
    most = st.session_state.get(MORE, FIRST)
    for left, right in zip(entries[:most:2], [*entries[1:most:2], None], strict=False):
        for column, entry in zip(st.columns(2, gap="medium"), (left, right), strict=True):
            if entry is not None:
                with column:
                    _card(entry)
    if len(entries) > most:
        st.button(f"Show {min(len(entries) - most, 2 * FIRST)} more of {len(entries) - most}", key="library:show-more",
                  icon=":material/expand_more:", on_click=_show_more, args=(most,))


def _counted(count: int, total: int) -> str:
    if not total:
        return ("The library is empty. Save a comparison at the foot of Compare; finished runs and uploads are listed "
                "automatically.")
    return f"{count} of {total} entries" if count else f"None of {total} entries match all words; remove one."


def _show_more(most: int) -> None:
    st.session_state[MORE] = most + 2 * FIRST


def _card(entry: Entry) -> None:
    key = hashlib.sha256(f"{entry.shelf} {entry.key}".encode()).hexdigest()[:12]
    with st.container(border=True, key=f"wf-entry-{key}"):
        st.html(_head(entry))
        if entry.trouble:
            st.warning(sentence(entry.trouble), icon=":material/link_off:")
        with st.container(horizontal=True, vertical_alignment="center"):
            if entry.page:
                st.page_link(f"../pages/{entry.page}.py", label="Open", icon=":material/open_in_new:",
                             query_params={**entry.parameters, choice.WHOLE: "1"})
            if entry.shelf == "runs" and not entry.trouble and entry.page != "runs":
                st.page_link("../pages/runs.py", label="Tables", icon=":material/table:",
                             query_params={"run": [entry.key]})
            st.button("Edit", key=f"note:{key}", icon=":material/edit_note:", help="Note and tags.",
                      on_click=acts.edit, args=(entry,))
            if not SHELVES[entry.shelf].fixed:
                st.button("Delete", key=f"ask:{key}", icon=":material/delete:", on_click=acts.ask, args=(entry,))
        if acts.edited(entry):
            _form(entry, key)
        if acts.confirming(entry):
            _confirm(entry, key)


def _head(entry: Entry) -> str:
    shelf, noted = SHELVES[entry.shelf], entry.noted
    when = written(entry.created.replace("Z", "+00:00"), st.context.timezone) if entry.created else ""
    facts = [shelf.title, when, f"took {spell(entry.seconds)}" if entry.seconds else "", entry.summary]
    tags = "".join(f'<span class="wf-tag">{escape(tag)}</span>' for tag in noted.tags)
    note = f'<p class="wf-entry-note">{escape(noted.note)}</p>' if noted.note else ""
    return (f'<div class="wf-entry">{thumbnail.html(data.sketch(entry), shelf.title)}<div>'
            f"<h2>{escape(entry.title)}</h2>"
            f'<p class="wf-entry-facts wf-num">{escape(" · ".join(fact for fact in facts if fact))}</p>{note}'
            f'{f"<p>{tags}</p>" if tags else ""}</div></div>')


def _form(entry: Entry, key: str) -> None:
    """Name, note and tags, kept at one click."""
    named = SHELVES[entry.shelf].named
    with st.form(f"form:{key}", border=False):
        name = st.text_input("Name", entry.title, key=f"name:{key}", max_chars=LONGEST_NAME) if named else ""
        note = st.text_area("Note", entry.noted.note, key=f"text:{key}", max_chars=LONGEST_NOTE, height=90)
        tags = st.text_input("Tags, separated by commas", ", ".join(entry.noted.tags), key=f"tags:{key}", max_chars=900)
        row = st.container(horizontal=True)
        keep = row.form_submit_button("Keep", type="primary")
        close = row.form_submit_button("Close")
    if keep:
        job_panel.act(acts.annotate, entry, name, note, tags)
    if keep or close:
        st.rerun()


def _confirm(entry: Entry, key: str) -> None:
    shelf = SHELVES[entry.shelf]
    st.markdown(f"Delete “{plain(entry.title)}”? {shelf.loss}{_needed(entry)}")
    row = st.container(horizontal=True)
    row.button("Delete for good", key=f"delete:{key}", type="primary", on_click=job_panel.act,
               args=(acts.delete, entry))
    row.button("Cancel", key=f"keep:{key}", on_click=acts.ask, args=(None,))


def _needed(entry: Entry) -> str:
    """How many saved comparisons name it."""
    count = SHELVES[entry.shelf].named_by(entry.key)
    return "" if not count else f" {count} saved comparison{'s name' if count > 1 else ' names'} it."
