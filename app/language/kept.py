"""What trainings of language models take up on this machine, and their removal, each after a second click."""

from __future__ import annotations

import streamlit as st

from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from app.widgets.words.times import moment
from engine.basics.errors import WhichfluenceError
from engine.basics.sizes import spell_bytes
from engine.desk import models
from engine.desk.models import Training

SAID = "language:kept:said"


def show() -> None:
    """Every training with its size and a button; nothing where there is none."""
    if said := st.session_state.pop(SAID, ""):
        st.toast(said, icon=":material/delete:")
    found = models.trainings()
    if not found:
        return
    total = spell_bytes(sum(training.size for training in found))
    count = f"{len(found)} training{'s' if len(found) > 1 else ''}"
    with st.expander(f"On this machine's disk: {count}, {total}", icon=":material/hard_drive:"):
        glossary.caption(
            "Checkpoints and cached gradients, which new runs reuse. Deleting them keeps every result; a run "
            "that needs them again trains again.")
        busy = models.busy()
        for training in found:
            _row(training, training.digest in busy)


def _row(training: Training, busy: bool) -> None:
    with st.container(border=True), st.container(horizontal=True, vertical_alignment="center"):
        with st.container():
            glossary.markdown(f"**{plain(models.training_title(training))}**")
            glossary.caption(
                f"{spell_bytes(training.checkpoints)} of checkpoints, {spell_bytes(training.gradients)} of "
                f"gradients · last used {moment(training.used, st.context.timezone)}")
        if busy:
            st.badge("in use", color="blue", icon=":material/play_circle:")
            return
        with st.popover("Delete", icon=":material/delete:"):
            glossary.markdown(
                f"Delete {spell_bytes(training.size)} of this training? Results stay; new queries can be asked "
                "only after training again.")
            st.button("Delete for good", key=f"language:kept:{training.digest}", type="primary", on_click=_delete,
                      args=(training.digest,))


def _delete(digest: str) -> None:
    try:
        st.session_state[SAID] = f"{spell_bytes(models.delete_training(digest))} were freed."
    except WhichfluenceError as error:
        st.session_state[SAID] = str(error)
