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
from engine.desk import ProblemSource
from engine.desk.models import WEIGHT_FILES, keep_weights, weights_sentence

NAME = "weights"
TYPES = [suffix[1:] for suffix in WEIGHT_FILES]


def show(source: Callable[[], ProblemSource]) -> None:
    """Which weights are in use, and a place to bring others for the model of `source()`."""
    chosen = choice.one(NAME, "", str)
    with st.expander("Use my own weights"):
        if chosen:
            glossary.caption(f"In use: {chosen}. {_known(chosen)}")
            st.button("Train here instead", on_click=choice.keep, args=(NAME, []), key="weights:forget")
        file = st.file_uploader("Checkpoint of this model: safetensors, or a state dict, which is read without running "
                                "code; or the folder of a recorded training, as a zip", type=TYPES, key="weights:file")
        if file is not None:
            once(NAME, (file.file_id, source().model), lambda: _take(file, source()))


def _known(name: str) -> str:
    """What is known of how they were trained, as a sentence."""
    try:
        return weights_sentence(name)
    except WhichfluenceError as error:
        return sentence(error)


def _take(file: BinaryIO, source: ProblemSource) -> None:
    choice.keep(NAME, keep_weights(file, file.name, source.build_module))
    st.rerun()
