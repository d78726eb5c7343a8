"""The page's runs: drawn data, finished scores, and jobs that compute them. Nothing here draws on the page."""

from __future__ import annotations

import json
import shlex
from typing import Any

import streamlit as st

from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads, published
from engine import data
from engine.applications.noisy_labels.recommended import Recommended, by_flags, by_publication
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.data import preview as previews
from engine.data.preview import Preview
from engine.desk import Waiting
from engine.experiments.noisy_labels import cost
from engine.runs import noisy_labels as runs
from engine.runs import noisy_retraining as retraining
from engine.store.results import Result, home

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


def scored(source: NoisySource) -> runs.Scored | None:
    """The scores of a source, where its run is finished. Raises `StoreError` where they cannot be trusted."""
    result = desk().jobs.result(runs.KIND, runs.payload(source))
    return None if result is None else _scored(str(desk().jobs.root), result.digest, result)


@st.cache_resource(show_spinner=False, max_entries=4)
def _scored(root: str, digest: str, _result: Result) -> runs.Scored:
    return runs.load(_result).with_consensus()


def recommended(drawn: NoisyData, scored: runs.Scored) -> Recommended | None:
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
    return desk().jobs.under_way(runs.KIND, runs.payload(source))


def start_scoring(source: NoisySource) -> None:
    start(runs.KIND, runs.payload(source), f"Noisy labels in {data.title(source.dataset)}")


def start(kind: str, payload: dict[str, Any], title: str) -> None:
    """Queue a job, or take it up again where it stopped."""
    desk().jobs.take_up(kind, payload, title)


def training_again(payload: dict[str, Any]) -> Waiting | None:
    """A what-if run that was asked for and is not done."""
    return desk().jobs.under_way(retraining.WHAT_IF, payload)


def what_if_result(payload: dict[str, Any]) -> Result | None:
    """A finished what-if run."""
    return desk().jobs.result(retraining.WHAT_IF, payload)


def seconds(source: NoisySource, trainings: float = SEARCH) -> float:
    """Guessed seconds of so many trainings."""
    return cost(source.model_dump(mode="json"), trainings) + START


def search_time(source: NoisySource) -> str:
    """How long the search takes, in words."""
    return guesses.told(runs.KIND, seconds(source), lambda payload: cost(payload["source"], SEARCH) + START)


def retraining_time(source: NoisySource, trainings: int) -> str:
    """How long so many trainings take, in words."""
    return guesses.told(retraining.WHAT_IF, seconds(source, trainings),
                        lambda payload: cost(payload["source"], 2 * len(payload["seeds"])) + START)


def command(source: NoisySource, name: str = "noisy-labels", out: str = "suspicion.csv") -> str:
    """The command line that recomputes the scores, or what `name` computes."""
    return (f"{downloads.declaration(source.model)}python -m engine {name} --source "
            f"{shlex.quote(json.dumps(source.stated))} --out {out}")
