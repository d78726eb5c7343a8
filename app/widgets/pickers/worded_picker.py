"""What a span or a contrast of a language model is about: words marked in a response, or another response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from app.widgets.choices import inputs
from app.widgets.examples import record_text
from app.widgets.frame.guard import guarded
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.desk.datasets import Record
from engine.question.behaviors import BEHAVIORS
from engine.question.worded import LONGEST, ORDINALS, WITHOUT_WORDS, Contrast, Span, Worded

MOST_WORDS = 150
"""Words of a response that are offered to mark."""
MARK = "Click the first and the last word of the span, or type the words below."
EVERY, ALONE = "In every query's response", "In this query alone"
CHOICE, WRITTEN = "The same, with another choice stated", "Custom"


def span(name: str, records: Sequence[Record], before: Worded | None) -> str | None:
    """The behavior that reads marked words of the queries' responses; None, with the reason, where there is none yet.

    name: of the widgets. records: the queries. before: what it was.
    """
    own = before if isinstance(before, Span) else None
    query = _query(name, records, own)
    words = records[query].response.split()[:MOST_WORDS]
    text, marks = f"{name}:words", f"{name}:marks:{query}"
    st.session_state.setdefault(text, own.words if own else "")
    inputs.pills("Words of the response", range(len(words)), key=marks, selection_mode="multi", help=MARK,
                 format_func=lambda at: plain(words[at]), on_change=_mark, args=(marks, text, words))
    written = inputs.text_input("Marked words", key=text, max_chars=LONGEST, placeholder="such as: is a metal")
    alone = _alone(name, own)
    if not written.strip():
        glossary.caption("Mark words of the response: the behavior is their log-likelihood, per token.")
        return None
    behavior = _checked(Span(" ".join(written.split()), query if alone else None).spelling)
    return behavior and _standing(behavior, written, records, query if alone else None)


def contrast(name: str, records: Sequence[Record], before: Worded | None) -> str | None:
    """The behavior that reads this response against another one; None, with the reason, where there is none yet."""
    own = before if isinstance(before, Contrast) else None
    query = _query(name, records, own)
    others = [choice for choice in records[query].choices if choice != records[query].answer]
    others = others[:len(ORDINALS)] if records[query].answer else []
    kind = f"{name}:other"
    st.session_state.setdefault(kind, WRITTEN if not others or (own and own.response) else CHOICE)
    chosen = inputs.radio("Other response", [CHOICE, WRITTEN], key=kind, horizontal=True)
    if chosen == CHOICE and not others:
        glossary.caption("This query states no choices; write the other response yourself.")
        return None
    number, written = 1, ""
    if chosen == CHOICE:
        number = st.selectbox("Choice", range(1, len(others) + 1), key=f"{name}:choice:{query}",
                              index=min(own.choice, len(others)) - 1 if own else 0,
                              format_func=lambda at: f"its {ORDINALS[at - 1]} other choice (here “{others[at - 1]}”)")
    else:
        st.session_state.setdefault(f"{name}:written", own.response if own else "")
        written = inputs.text_area("The other response", key=f"{name}:written", max_chars=LONGEST, height=80).strip()
    alone = _alone(name, own)
    if chosen == WRITTEN and not written:
        glossary.caption("Write a response: the behavior is the log-probability of this one minus that of yours.")
        return None
    return _checked(Contrast(written, number, query if alone else None).spelling)


def _whole(kind: str, name: str, records: Sequence[Record], before: Worded | None) -> str:
    """A behavior of whole responses, for which nothing else is picked."""
    glossary.caption(f"The behavior is {BEHAVIORS[kind].clause.rstrip(',')}.")
    return kind


SHOWN: dict[str, Callable[[str, Sequence[Record], Worded | None], str | None]] = {
    "span": span, "contrast": contrast, **{kind: partial(_whole, kind) for kind in WITHOUT_WORDS}}
"""Kind of behavior -> what is picked for it."""


def _query(name: str, records: Sequence[Record], own: Worded | None) -> int:
    first = own.query if own and own.query is not None and own.query < len(records) else 0
    return st.selectbox("Query whose response is shown", range(len(records)), index=first, key=f"{name}:query",
                        format_func=lambda at: f"{at}: {record_text.short(records[at])}")


def _alone(name: str, own: Worded | None) -> bool:
    return st.radio("Asked", [EVERY, ALONE], index=int(own is not None and own.query is not None),
                    key=f"{name}:alone", horizontal=True,
                    help="For a behavior of one query, the scores of all other queries are zero.") == ALONE


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


def _standing(behavior: str, written: str, records: Sequence[Record], query: int | None) -> str | None:
    """The behavior, where every queried response has its words."""
    queries = range(len(records)) if query is None else [query]
    words = Span(written)
    holding = [at for at in queries if words.matches(records[at].response)]
    if len(holding) == len(queries):
        return behavior
    where = (f"in {len(holding)} of {len(queries)} responses" if query is None else
             f"not in the response of query {query}")
    st.error(f"“{plain(written)}” is {where}; mark words that occur, or choose one query that has them.",
             icon=":material/error:")
    return None
