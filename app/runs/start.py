"""Starting a reproduction from the Runs page: which, at which scale, how long it takes, and what it lacks."""

from __future__ import annotations

import streamlit as st

from app.language import records as language_records
from app.paper import panel as paper_panel
from app.paper import reproductions
from app.widgets import choice, glossary
from app.widgets.desk import desk
from engine.applications.language import catalogue, models
from engine.experiments import EXPERIMENTS


def show(expanded: bool) -> None:
    """The panel; open where there is nothing else to see, or where a link leads to it with `start=open`."""
    asked = st.query_params.get("start") == "open"
    with st.expander("Reproduce a table or figure of the paper", icon=":material/science:", expanded=expanded or asked):
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
        _offer(name, preset, _other_model(name, preset))


def _other_model(name: str, preset: str) -> str | None:
    """A language model in place of the preset's; None for its own, and where the study runs none."""
    if not EXPERIMENTS[name].models:
        return None
    own = EXPERIMENTS[name].presets[preset].settings["model"]
    key = choice.bound("other", "", lambda given: given and language_records.model_name(given))
    others = [*models.available(), *catalogue.HUB.values(), st.session_state[key] or ""]
    chosen = st.selectbox("Language model", list(dict.fromkeys(["", *(other for other in others if other != own)])),
                          key=key, format_func=lambda model: model or own, accept_new_options=True, width=640,
                          help="A name under WHICHFLUENCE_MODELS, a name on the Hugging Face hub, or a folder.") or ""
    choice.keep("other", chosen)
    return None if chosen in ("", own) else chosen


def _offer(name: str, preset: str, model: str | None) -> None:
    job = desk().jobs.queue.get(reproductions.digest(name, preset, model))
    chosen = EXPERIMENTS[name].presets[preset]
    cost = reproductions.cost(name, preset, model)
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
        job = reproductions.start(name, preset, model)
        if job.state == "done":
            choice.keep("run", job.id)
        st.rerun()
