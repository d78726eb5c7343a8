"""Starting a reproduction from the Runs page: which, at which scale, how long it takes, and what it lacks."""

from __future__ import annotations

import streamlit as st

from app import choice, glossary, paper_panel, reproductions
from app.workbench import queue
from engine.experiments import EXPERIMENTS


def show(expanded: bool) -> None:
    """The panel; open where there is nothing else to see."""
    with st.expander("Reproduce a table or figure of the paper", icon=":material/science:", expanded=expanded):
        names = list(EXPERIMENTS)
        key = choice.bound("experiment", names[0], choice.from_options(names))
        name = st.selectbox("Table or figure", names, key=key, format_func=lambda name: EXPERIMENTS[name].title,
                            width=640)
        choice.keep("experiment", name)
        presets = EXPERIMENTS[name].presets
        default = "small" if "small" in presets else next(iter(presets))
        key = choice.bound("preset", default, choice.from_options(list(presets)))
        preset = st.segmented_control("Scale", list(presets), key=key, required=True,
                                      format_func=paper_panel.scale_title)
        choice.keep("preset", preset)
        _offer(name, preset)


def _offer(name: str, preset: str) -> None:
    job = queue().get(reproductions.digest(name, preset))
    chosen = EXPERIMENTS[name].presets[preset]
    cost = reproductions.cost(name, preset)
    glossary.caption(
        f"{chosen.title[0].upper()}{chosen.title[1:]}. {chosen.seeds} seeds; {cost.text}. You can close the "
        "browser meanwhile, and cancel and resume without losing a finished part.")
    lacking = reproductions.missing_data(name, preset)
    if lacking:
        st.warning(lacking, icon=":material/cloud_download:")
    if job is not None and job.active:
        st.info("This run is under way; see below.", icon=":material/play_circle:")
        return
    again = job is not None and job.state in ("failed", "cancelled")
    label = "Resume it" if again else "Show it" if job is not None and job.state == "done" else "Start"
    if st.button(label, type="primary", key="start", icon=":material/play_arrow:"):
        job = reproductions.start(name, preset)
        if job.state == "done":
            choice.keep("run", job.id)
        st.rerun()
