"""The page's runs: drawn data, finished scores, and jobs that compute them. Nothing here draws on the page."""

from __future__ import annotations

import json
import shlex

import streamlit as st

from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from app.widgets.results import published
from engine.applications.noisy_labels.recommended import Recommended, by_flags, by_publication
from engine.applications.noisy_labels.retraining import WhatIfRequest
from engine.applications.noisy_labels.search import Scored, SuspicionRequest
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.data import preview as previews
from engine.data.preview import Preview
from engine.desk import Waiting
from engine.experiments.noisy_labels import cost
from engine.store.results import home

SEARCH = 3.5
"""How many trainings a search takes about as long as, with confident learning."""
PUBLISHED = "table-5-1"
SCALES = {False: ("small",), True: ("paper", "desk")}
"""Its scales, by whether their model is a deep network that has learned its labels by heart."""
START = 3.0
"""Seconds before a run's first training."""


def drawn(source: NoisySource) -> NoisyData:
    """The data of a source, kept for a few of them."""
    return _drawn(str(home()), source.model_dump_json(), tuple(source.contents.values()))


@st.cache_resource(show_spinner="Drawing the data", max_entries=4)
def _drawn(root: str, source: str, contents: tuple[str, ...]) -> NoisyData:
    return NoisySource.model_validate_json(source).draw()


def scored(source: NoisySource) -> Scored | None:
    """The scores of a source, where its run is finished. Raises `StoreError` where they cannot be trusted."""
    answer = desk().known(SuspicionRequest(source=source))
    return answer if isinstance(answer, Scored) else None


def recommended(drawn: NoisyData, scored: Scored) -> Recommended | None:
    """The ranking to look at first, and why: by what is known of these labels, else by the published table."""
    if drawn.flags is not None and drawn.flags.noisy.any():
        return by_flags(scored.suspicion, drawn.flags.noisy)
    scales = filter(None, (published.reproduction(PUBLISHED, scale) for scale in SCALES[scored.by_heart]))
    found = next(scales, None)
    return by_publication(scored.suspicion, found.table, found.manifest["scale"], scored.by_heart) if found else None


@st.cache_data(show_spinner="Looking at what you brought", max_entries=8)
def preview(name: str, content: str) -> Preview:
    """What was understood of a user's own data."""
    return previews.preview(name)


def scoring(source: NoisySource) -> Waiting | None:
    """The run that scores a source, where it was asked for and is not done."""
    answer = desk().known(SuspicionRequest(source=source))
    return answer if isinstance(answer, Waiting) else None


def start_scoring(source: NoisySource) -> None:
    """Queue that run, or take it up again where it stopped."""
    desk().start(SuspicionRequest(source=source))


def seconds(source: NoisySource, trainings: float = SEARCH) -> float:
    """Guessed seconds of so many trainings."""
    return cost(source.model_dump(mode="json"), trainings) + START


def search_time(source: NoisySource) -> str:
    """How long the search takes, in words."""
    return guesses.told(SuspicionRequest.name, seconds(source), lambda payload: cost(payload["source"], SEARCH) + START)


def retraining_time(source: NoisySource, trainings: int) -> str:
    """How long so many trainings take, in words."""
    return guesses.told(WhatIfRequest.name, seconds(source, trainings),
                        lambda payload: cost(payload["source"], 2 * len(payload["seeds"])) + START)


def command(source: NoisySource, name: str = "noisy-labels", out: str = "suspicion.csv") -> str:
    """The command line that recomputes the scores, or what `name` computes."""
    return (f"python -m engine {name} --source "
            f"{shlex.quote(json.dumps(source.stated))} --out {out}")
