"""What the Runs page shows, chosen and kept in the address: an opened run, a state of jobs, a reproduction to start."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.choices.selectors import pick, segments
from app.widgets.jobs.desk import desk
from app.widgets.jobs.reproductions import scale_title
from app.widgets.pickers.language_model import model_name
from engine.basics.errors import InvalidInput
from engine.desk import models
from engine.desk.published import EXPERIMENTS, conventions, studies
from engine.desk.shelves import Job


def opened() -> Job | None:
    """The run that the address names; a digest that is not there is dropped with a message."""
    return choice.one("run", None, _finished)


def _finished(text: str) -> Job:
    job = desk().jobs.queue.get(text)
    if job is None:
        raise InvalidInput("this run does not exist here: it was deleted, or belongs to another machine.")
    if job.state != "done" or not desk().jobs.store.has(job.id):
        raise InvalidInput("this run has no result to show; see its state below.")
    return job


def open_run(digest: str) -> None:
    """Show one run instead of the list."""
    choice.keep("run", digest)


def close_run(digest: str | None = None) -> None:
    """Back to the list; with `digest`, only if that run is the one that is shown."""
    if digest is None or choice.texts("run") == [digest]:
        choice.keep("run", [])


def filter_of(names: Sequence[str]) -> str:
    """Which states of jobs are listed."""
    return segments("show", "Show", list(names), names[0], str.capitalize, label_visibility="collapsed")


def starts() -> bool:
    """Whether a link leads here to start a reproduction."""
    return st.query_params.get("start") == "open"


def reproduction() -> tuple[str, str]:
    """(table or figure, scale) to start."""
    names = list(EXPERIMENTS)
    name = pick("experiment", "Table or figure", names, names[0], lambda name: EXPERIMENTS[name].title, width=640)
    presets = list(EXPERIMENTS[name].presets)
    return name, segments("preset", "Scale", presets, "small" if "small" in presets else presets[0], scale_title)


def conventions_of(name: str) -> str:
    """By which reading of the paper; its words where the study computes by no other."""
    offered = studies.offered(name)
    if len(offered) == 1:
        return offered[0]
    return segments("as", "Reading of the paper", offered, offered[0], conventions.TITLES.__getitem__)


def other_model(name: str, preset: str) -> str | None:
    """A language model instead of the preset's; None for its own, and where the study runs none."""
    if not EXPERIMENTS[name].models:
        return None
    own = EXPERIMENTS[name].presets[preset].settings["model"]
    key = choice.bound("other", "", lambda given: given and model_name(given))
    others = [*models.local_models(), *models.HUB.values(), st.session_state[key] or ""]
    offered = list(dict.fromkeys(["", *(other for other in others if other != own)]))
    chosen = inputs.selectbox("Language model", offered, key=key, format_func=lambda model: model or own,
                              accept_new_options=True, width=640, help="A name under WHICHFLUENCE_MODELS, a name on "
                              "the Hugging Face hub, or a folder.") or ""
    choice.keep("other", chosen)
    return None if chosen in ("", own) else chosen
