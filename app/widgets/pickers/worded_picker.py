"""What a span or a contrast of a language model is about: words marked in a response, or another response."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.widgets.choices import inputs
from app.widgets.examples import record_text
from app.widgets.frame.guard import guarded
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.desk.datasets import Record
from engine.question.behaviors import BEHAVIORS
from engine.question.worded import LONGEST, ORDINALS, Contrast, Span, Worded

MOST_WORDS = 150
"""Words of a response that are offered to mark."""
MARK = "Click the first and the last word; what is between them is marked too. Or type the words below."
EVERY, ALONE = "In every query's response", "In this query alone"
CHOICE, WRITTEN = "The same, with another choice stated", "One that I write"


def span(name: str, records: Sequence[Record], before: Worded | None) -> str | None:
    """The behavior that reads marked words of the queries' responses; None, with the reason, where there is none yet.

    name: of the widgets. records: the queries. before: what it was.
    """
    kept = before if isinstance(before, Span) else None
    place = _query(name, records, kept)
    words = records[place].response.split()[:MOST_WORDS]
    text, marks = f"{name}:words", f"{name}:marks:{place}"
    st.session_state.setdefault(text, kept.words if kept else "")
    inputs.pills("Words of its response", range(len(words)), key=marks, selection_mode="multi", help=MARK,
                 format_func=lambda at: plain(words[at]), on_change=_mark, args=(marks, text, words))
    written = inputs.text_input("Marked words", key=text, max_chars=LONGEST, placeholder="such as: is a metal")
    alone = _alone(name, kept)
    if not written.strip():
        glossary.caption("Mark words of the response: the behavior is their log-likelihood, per token.")
        return None
    found = _checked(Span(" ".join(written.split()), place if alone else None).spelling)
    return found and _standing(found, written, records, place if alone else None)


def contrast(name: str, records: Sequence[Record], before: Worded | None) -> str | None:
    """The behavior that reads this response against another one; None, with the reason, where there is none yet."""
    kept = before if isinstance(before, Contrast) else None
    place = _query(name, records, kept)
    others = [choice for choice in records[place].choices if choice != records[place].answer]
    others = others[:len(ORDINALS)] if records[place].answer else []
    kind = f"{name}:other"
    st.session_state.setdefault(kind, WRITTEN if not others or (kept and kept.response) else CHOICE)
    chosen = inputs.radio("Other response", [CHOICE, WRITTEN], key=kind, horizontal=True)
    if chosen == CHOICE and not others:
        glossary.caption("This query states no choice of several; write the other response yourself.")
        return None
    number, written = 1, ""
    if chosen == CHOICE:
        number = st.selectbox("Choice", range(1, len(others) + 1), key=f"{name}:choice:{place}",
                              index=min(kept.choice, len(others)) - 1 if kept else 0,
                              format_func=lambda at: f"its {ORDINALS[at - 1]} other choice (here “{others[at - 1]}”)")
    else:
        st.session_state.setdefault(f"{name}:written", kept.response if kept else "")
        written = inputs.text_area("The other response", key=f"{name}:written", max_chars=LONGEST, height=80).strip()
    alone = _alone(name, kept)
    if chosen == WRITTEN and not written:
        glossary.caption("Write a response: the behavior is the log-probability of this one minus that of yours.")
        return None
    return _checked(Contrast(written, number, place if alone else None).spelling)


SHOWN = {"span": span, "contrast": contrast}
"""Kind of behavior -> what is picked for it."""


def _query(name: str, records: Sequence[Record], kept: Worded | None) -> int:
    first = kept.query if kept and kept.query is not None and kept.query < len(records) else 0
    return st.selectbox("Query whose response is shown", range(len(records)), index=first, key=f"{name}:query",
                        format_func=lambda at: f"{at}: {record_text.short(records[at])}")


def _alone(name: str, kept: Worded | None) -> bool:
    return st.radio("Asked", [EVERY, ALONE], index=int(kept is not None and kept.query is not None),
                    key=f"{name}:alone", horizontal=True,
                    help="Of one query alone, the scores of the other queries are zero.") == ALONE


def _mark(marks: str, text: str, words: Sequence[str]) -> None:
    """From the first to the last word that was clicked."""
    chosen = st.session_state[marks]
    whole = list(range(min(chosen), max(chosen) + 1)) if chosen else []
    st.session_state[marks] = whole
    st.session_state[text] = " ".join(words[at] for at in whole)[:LONGEST]


def _checked(name: str) -> str | None:
    with guarded("This behavior"):
        return BEHAVIORS[name].name
    return None


def _standing(found: str, written: str, records: Sequence[Record], query: int | None) -> str | None:
    """The behavior, where every query that is asked about holds its words."""
    asked = range(len(records)) if query is None else [query]
    words = Span(written)
    holding = [at for at in asked if words.found(records[at].response)]
    if len(holding) == len(asked):
        return found
    where = f"in {len(holding)} of {len(asked)} responses" if query is None else f"not in the response of query {query}"
    st.error(f"“{plain(written)}” stands {where}; mark words that are there, or ask of one query alone that holds "
             "them.", icon=":material/error:")
    return None
