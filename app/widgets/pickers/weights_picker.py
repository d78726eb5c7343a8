"""A network's trained weights of one's own, or a recorded training, in place of training here."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import streamlit as st

from app.widgets.choices import choice
from app.widgets.frame.guard import once
from app.widgets.words import glossary
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk import ProblemSource, fitting
from engine.desk.models import WEIGHT_FILES, keep_weights, weights_sentence

NAME, TRAINED = "weights", "trained"
"""The choice, and its value where the model is trained here although it came with weights."""
TYPES = [suffix[1:] for suffix in WEIGHT_FILES]


def chosen(dataset: str, model: str) -> str:
    """The name of the weights in use: those of the reader, else those that the program was started with; empty where
    the model is trained here."""
    own = fitting.declared_for(dataset, model)
    name = choice.one(NAME, own.weights if own else "", str)
    return "" if name == TRAINED else name


def show(source: Callable[[], ProblemSource]) -> None:
    """Which weights are in use, and a place to bring others for the model of `source()`."""
    problem = source()
    name, own = problem.weights, fitting.declared_for(problem.dataset, problem.model)
    with st.expander("Use my own weights"):
        if name:
            glossary.caption(f"In use: {name}. {_known(problem)}")
            st.button("Train it instead", on_click=choice.keep, args=(NAME, TRAINED if own and own.weights else []),
                      key="weights:forget")
        file = st.file_uploader("Checkpoint of this model: safetensors, or a state dict (loaded without running "
                                "code), or a zipped folder of a recorded training", type=TYPES, key="weights:file")
        if file is not None:
            once(NAME, (file.file_id, source().model), lambda: _take(file, source()))


def _known(source: ProblemSource) -> str:
    """What is known of how they were trained, as a sentence."""
    try:
        return weights_sentence(source.weights, source.recipe)
    except WhichfluenceError as error:
        return sentence(error)


def _take(file: BinaryIO, source: ProblemSource) -> None:
    choice.keep(NAME, keep_weights(file, file.name, source.build_module))
    st.rerun()
