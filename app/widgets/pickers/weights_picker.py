"""A network's trained weights of one's own, or a recorded training, in place of training here."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.widgets.choices import choice
from app.widgets.pickers import fitting_models
from app.widgets.words import glossary
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.models import own_weights
from engine.models.recorded import kept
from engine.problems import ProblemSource

NAME, TRAINED = "weights", "trained"
"""The choice, and its value where the model is trained here although it came with weights."""
DONE, FAULT = "weights:done", "weights:fault"
TYPES = [suffix[1:] for suffix in (*own_weights.SUFFIXES, kept.SUFFIX)]


def chosen(dataset: str, model: str) -> str:
    """The name of the weights in use: those of the reader, else those that the program was started with; empty where
    the model is trained here."""
    own = fitting_models.declared_for(dataset, model)
    name = choice.one(NAME, own.weights if own else "", str)
    return "" if name == TRAINED else name


def show(source: Callable[[], ProblemSource]) -> None:
    """Which weights are in use, and a place to bring others for the model of `source()`."""
    problem = source()
    name, own = problem.weights, fitting_models.declared_for(problem.dataset, problem.model)
    with st.expander("Use my own weights"):
        if name:
            glossary.caption(f"In use: {name}. {_known(problem)}")
            st.button("Train here instead", on_click=choice.keep, args=(NAME, TRAINED if own and own.weights else []),
                      key="weights:forget")
        file = st.file_uploader("Checkpoint of this model: safetensors, or a state dict, which is read without running "
                                "code; or the folder of a recorded training, as a zip", type=TYPES, key="weights:file")
        if file is not None:
            _take(file, problem)


def _known(source: ProblemSource) -> str:
    """What is known of how they were trained, as a sentence."""
    if not kept.is_recording(source.weights):
        return ("They count as trained by the recipe that the program was started with; trajectories cannot be asked "
                "for." if source.recipe else
                "How they were trained is not known, so trajectories and retraining cannot be asked for.")
    try:
        return kept.facts(source.weights).sentence
    except WhichfluenceError as error:
        return sentence(str(error))


def _take(file, source: ProblemSource) -> None:
    state = st.session_state
    if state.get(DONE) != (file.file_id, source.model):
        state[DONE], state[FAULT] = (file.file_id, source.model), ""
        try:
            choice.keep(NAME, _kept(file, source))
            st.rerun()
        except WhichfluenceError as error:
            state[FAULT] = str(error)
    if state[FAULT]:
        st.error(sentence(state[FAULT]), icon=":material/error:")


def _kept(file, source: ProblemSource) -> str:
    """The name under which a file is kept that fits the model. Raises `InvalidInput` where it does not."""
    if not file.name.lower().endswith(kept.SUFFIX):
        return own_weights.keep(file, file.name, source.build_module())
    return kept.keep_zip(file, source.build_module)
