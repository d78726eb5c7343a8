"""The search of the dialog that adds a specification, and what the dialog goes on from: the last state, or what was
chosen."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import streamlit as st

from app.compare import external_files
from app.compare.entries import SearchEntry, entries
from app.widgets.choices import choice, inputs
from app.widgets.pickers import weights_picker
from app.widgets.words import chips, glossary
from engine.basics.errors import WhichfluenceError
from engine.scoring import codes
from engine.scoring.scoring import Scoring

BOX, BASE, LAST, LOST, RUN = (f"compare:search:{name}" for name in ("box", "base", "last", "lost", "run"))
"""Of the session: the widget; the code that the inputs begin with; the code that they held last; (code, what of the
base is not in it), None until it is known; the recorded run that was taken into use."""


def last() -> str:
    """The code that the inputs held last; empty before."""
    return st.session_state.get(LAST, "")


def box() -> bool:
    """The search; whether what was chosen leaves nothing to fill in here."""
    listed = entries()
    if st.session_state.get(BOX) not in listed:
        st.session_state[BOX] = None
    inputs.selectbox("Search methods, questions and what you have", list(listed), key=BOX, on_change=_choose,
                     args=(listed,), format_func=lambda key: listed[key].title,
                     placeholder="GradSim, LiSSA, Koh, hard margin · remove, my scores …")
    chosen = listed.get(st.session_state[BOX] or "")
    if st.session_state.get(RUN):
        glossary.markdown(f"**The page now uses the recorded run {st.session_state[RUN]}**: TracIn and replay read "
                          "its steps. Search for a method to add.")
    if chosen is None:
        glossary.caption("To compare a method that is not listed, import its scores: see *Import scores of other "
                         "programs* at the foot of the page.")
        return False
    if chosen.table:
        glossary.markdown("**This file is at the foot of the page**, under *Import scores of other programs*: "
                          "choose there which question its scores answer.")
    if chosen.unfit:
        st.warning(chosen.unfit, icon=":material/block:")
    return bool(chosen.table or chosen.unfit)


def base() -> Scoring | None:
    """What the inputs begin with, where something was chosen or they were filled in before."""
    with suppress(WhichfluenceError):
        return codes.decode(st.session_state[BASE]) if st.session_state.get(BASE) else None
    return None


def held(scoring: Scoring) -> None:
    """Remember what the inputs hold, and say what of the base is not in it, until they are changed."""
    code, begun = codes.encode(scoring), base()
    st.session_state[LAST] = code
    if begun is None:
        return
    if st.session_state.get(LOST) is None:
        st.session_state[LOST] = code, _lost(begun, scoring)
    first, lost = st.session_state[LOST]
    if lost and first == code:
        st.caption(f"Not carried over, as it does not fit this model: {lost}.")


def _choose(listed: Mapping[str, SearchEntry]) -> None:
    entry = listed.get(st.session_state[BOX] or "")
    if entry is None:
        return
    st.session_state[RUN] = entry.run
    if entry.table:
        external_files.wait_for(entry.table)
    elif entry.run:
        choice.put(weights_picker.NAME, entry.run)
    elif entry.code:
        begin(entry.code)


def begin(code: str) -> None:
    """The inputs begin anew, with a code, or, where it is empty, with what the dialog is about."""
    for key in [key for key in st.session_state if str(key).startswith("add:")]:
        del st.session_state[key]
    st.session_state[BASE], st.session_state[LOST], st.session_state[RUN] = code, None, ""


def _lost(begun: Scoring, scoring: Scoring) -> str:
    return ", ".join(begun.route.title if axis == chips.ESTIMATOR else begun.axis(axis)
                     for axis in chips.differing([begun, scoring]))
