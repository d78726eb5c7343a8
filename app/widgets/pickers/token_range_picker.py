"""Choosing a range of tokens in the response of one query: `tokens@4:2-7`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from app.widgets.choices import inputs
from app.widgets.examples import record_text
from app.widgets.words import glossary
from engine.desk.datasets import Record
from engine.desk.language_queries import response_tokens
from engine.question.worded import TokenRange, Worded


def show(name: str, records: Sequence[Record], before: Worded | None, model: str) -> str:
    """The behavior, with its tokens marked in the response. Raises `InvalidInput` where the model is not here.

    name: of the widgets. records: the queries. before: what it was. model: whose tokens they are, by its name.
    """
    own = before if isinstance(before, TokenRange) and before.query < len(records) else None
    query = _one(f"{name}:query", "Query whose response is read", range(len(records)), own.query if own else 0,
                 lambda at: f"{at}: {record_text.short(records[at])}")
    tokens = response_tokens(model, records[query])
    begin = own if own and own.query == query and own.last < len(tokens) else TokenRange(query, 0, 0)
    left, right = st.columns(2)

    def title(at: int) -> str:
        return f"{at} · {tokens[at].text.strip() or repr(tokens[at].text)}"

    with left:
        first = _one(f"{name}:first:{query}", "First token", range(len(tokens)), begin.first, title)
    with right:
        last = _one(f"{name}:last:{query}", "Last token", range(first, len(tokens)), max(begin.last, first), title)
    marked = [(token.start, token.end) for token in tokens[first:last + 1]]
    st.html(record_text.STYLE + record_text.html(records[query], True, [(marked[0][0], marked[-1][1])]))
    chosen = TokenRange(query, first, last)
    glossary.caption(f"The behavior is the mean log-likelihood of the {chosen.count:,} underlined tokens, "
                     f"of {len(tokens):,}; the last token ends the turn. The scores of the other queries are zero."
                     if chosen.count > 1 else
                     f"The behavior is the log-likelihood of the underlined token, one of {len(tokens):,}; the last "
                     "token ends the turn. The scores of the other queries are zero.")
    return chosen.spelling


def _one(key: str, label: str, options: range, begin: int, title: Callable[[int], str]) -> int:
    if st.session_state.get(key) not in options:
        st.session_state[key] = begin
    return inputs.selectbox(label, options, key=key, format_func=title)
