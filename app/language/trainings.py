"""What trainings of language models take up on this machine, and their removal, each after a second click."""

from __future__ import annotations

import streamlit as st

from app.widgets.jobs import job_panel
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from app.widgets.words.times import moment
from engine.basics.sizes import spell_bytes
from engine.desk import models
from engine.desk.models import Training


def show() -> None:
    """Every training with its size and a button; nothing where there is none."""
    trainings = models.trainings()
    if not trainings:
        return
    total = spell_bytes(sum(training.size for training in trainings))
    count = f"{len(trainings)} training{'s' if len(trainings) > 1 else ''}"
    with st.expander(f"On this machine's disk: {count}, {total}", icon=":material/hard_drive:"):
        glossary.caption(
            "Checkpoints and cached gradients, which new runs reuse. Results are not deleted with them; a later run "
            "that needs them retrains the model.")
        busy = models.busy()
        for training in trainings:
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
                f"Delete {spell_bytes(training.size)} of this training? Results are not deleted; new queries need a "
                "new training run.")
            st.button("Delete for good", key=f"language:kept:{training.digest}", type="primary", on_click=job_panel.act,
                      args=(_delete, training.digest))


def _delete(digest: str) -> None:
    st.toast(f"{spell_bytes(models.delete_training(digest))} were freed.", icon=":material/delete:")
