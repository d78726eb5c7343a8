"""A network's trained weights of one's own, in place of training here."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.widgets import choice, glossary
from app.widgets.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.models import own_weights
from engine.problems import ProblemSource

NAME = "weights"
DONE, FAULT = "weights:done", "weights:fault"


def show(source: Callable[[], ProblemSource]) -> None:
    """Which weights are in use, and a place to bring others for the model of `source()`."""
    kept = choice.one(NAME, "", str)
    with st.expander("Use my own weights"):
        if kept:
            glossary.caption(
                f"In use: {kept}. How they were trained is not known, so trajectories and retraining cannot be "
                "asked for.")
            st.button("Train here instead", on_click=choice.keep, args=(NAME, []), key="weights:forget")
        file = st.file_uploader("Checkpoint of this model: safetensors, or a state dict, which is read without running "
                                "code", type=[suffix[1:] for suffix in own_weights.SUFFIXES], key="weights:file")
        if file is not None:
            _take(file, source())


def _take(file, source: ProblemSource) -> None:
    state = st.session_state
    if state.get(DONE) != (file.file_id, source.model):
        state[DONE], state[FAULT] = (file.file_id, source.model), ""
        try:
            choice.keep(NAME, own_weights.keep(file, file.name, source.build_module()))
            st.rerun()
        except WhichfluenceError as error:
            state[FAULT] = str(error)
    if state[FAULT]:
        st.error(sentence(state[FAULT]), icon=":material/error:")
