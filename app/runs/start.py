"""Starting a reproduction from the Runs page: which, at which scale, how long it takes, and what it lacks."""

from __future__ import annotations

import streamlit as st

from app.runs import state
from app.widgets.jobs import reproductions
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from engine.basics.values import capital
from engine.desk.published import EXPERIMENTS, studies


def show(expanded: bool) -> None:
    """The panel; open where there is nothing else to see, or where a link leads to it with `start=open`."""
    with st.container(key="wf-start"), st.expander("Reproduce a table or figure of the paper",
                                                   icon=":material/science:",
                                                   expanded=expanded or state.starts()):
        name, preset = state.reproduction()
        _offer(name, preset, state.other_model(name, preset), state.conventions_of(name))


def _offer(name: str, preset: str, model: str | None, whose: str) -> None:
    job = desk().jobs.queue.get(studies.digest(name, preset, model, whose))
    chosen = EXPERIMENTS[name].presets[preset]
    cost = reproductions.cost(name, preset, model, whose)
    glossary.caption(
        f"{capital(chosen.title)}. {reproductions.seeds(name, preset).capitalize()}; {cost.text}. "
        "You can close the browser; after cancelling, a run resumes with its finished parts.")
    lacking = studies.missing_data(name, preset)
    if lacking:
        st.warning(lacking, icon=":material/cloud_download:")
    if job is not None and job.active:
        st.info("This run has started; see below.", icon=":material/play_circle:")
        return
    stopped = job is not None and job.state in ("failed", "cancelled")
    label = "Resume it" if stopped else "Show it" if job is not None and job.state == "done" else "Start"
    if st.button(label, type="primary", key="start", icon=":material/play_arrow:"):
        job = reproductions.start(name, preset, model, whose)
        if job.state == "done":
            state.open_run(job.id)
        st.rerun()
