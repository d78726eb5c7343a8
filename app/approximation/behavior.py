"""Whose curves are drawn: a registered behavior, or one of a language model with words that the reader gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.widgets.choices import choice, inputs
from app.widgets.pickers import pickers
from app.widgets.words import glossary
from engine.desk.analyses import curve_questions
from engine.question.behaviors import BEHAVIORS

NAME = "behavior"
ITS_RUN = "A behavior on these words needs a separate run over the same candidates and queries."


def chosen(row: DeltaGenerator, below: DeltaGenerator) -> str | None:
    """The behavior, which stands in the address; None while the words of another one are picked `below`."""
    model = pickers.problem_class()
    registered = curve_questions.differentiable(model.kind)
    offered = [*registered, *(pickers.WORDED if model.reads == "tokens" else ())]
    before = choice.one(NAME, registered[0], _parser(registered, model.reads == "tokens"))
    words, key = BEHAVIORS[before].words, choice.widget(NAME)
    if st.session_state.get(key) not in offered:
        _begin(key, words.kind if words else before)
    kind = inputs.selectbox("Behavior", offered, key=key, area=row, width=180, format_func=_title,
                            help=glossary.hint("Behavior", "Only behaviors with a gradient have a first-order "
                                                           "approximation."))
    if kind not in pickers.WORDED:
        choice.keep(NAME, kind)
        return kind
    with below.container(border=True):
        picked = pickers.SHOWN[kind](f"{NAME}:{kind}", pickers.queries(), words)
        if picked is not None and picked != before:
            st.button("Compute its curves", key=f"{NAME}:draw", type="primary", icon=":material/show_chart:",
                      help=ITS_RUN, on_click=choice.keep, args=(NAME, picked))
    return before if picked == before else None


def _begin(key: str, kind: str) -> None:
    """The boxes as the address says it, whatever stood in them before."""
    for name in [name for name in st.session_state if str(name).startswith(f"{NAME}:")]:
        del st.session_state[name]
    st.session_state[key] = kind


def _parser(registered: Sequence[str], texts: bool) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if texts and text not in registered and BEHAVIORS[text].words:
            return BEHAVIORS[text].name
        return choice.from_options(registered)(text)

    return parse


def _title(kind: str) -> str:
    return pickers.WORDED.get(kind) or BEHAVIORS[kind].title
