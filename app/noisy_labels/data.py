"""The page's runs: drawn data, finished scores, and jobs that compute them. Nothing here draws on the page."""

from __future__ import annotations

import json
import shlex
from typing import Any

import streamlit as st

from app.widgets.desk import desk
from engine import data
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.experiments.noisy_labels import cost
from engine.jobs import Job, job_digest
from engine.runs import noisy_labels as runs
from engine.runs import noisy_retraining as retraining
from engine.store.results import Result, Store, home


def drawn(source: NoisySource) -> NoisyData:
    """The data of a source, kept for a few of them."""
    return _drawn(str(home()), source.model_dump_json(), tuple(source.contents.values()))


@st.cache_resource(show_spinner="Drawing the data", max_entries=4)
def _drawn(root: str, source: str, contents: tuple[str, ...]) -> NoisyData:
    return NoisySource.model_validate_json(source).draw()


def scored(source: NoisySource) -> runs.Scored | None:
    """The scores of a source, where its run is finished. Raises `StoreError` where they cannot be trusted."""
    digest = job_digest(runs.KIND, runs.payload(source))
    return _scored(str(home()), digest) if Store(home()).has(digest) else None


@st.cache_resource(show_spinner=False, max_entries=4)
def _scored(root: str, digest: str) -> runs.Scored:
    return runs.load(Store(root).read(digest))


def scoring_job(source: NoisySource) -> Job | None:
    """The run that scores a source, if it was asked for."""
    return desk().jobs.queue.get(job_digest(runs.KIND, runs.payload(source)))


def start_scoring(source: NoisySource) -> None:
    start(runs.KIND, runs.payload(source), f"Noisy labels in {data.title(source.dataset)}")


def start(kind: str, payload: dict[str, Any], title: str) -> None:
    """Queue a job, or take it up again where it stopped."""
    desk().jobs.take_up(kind, payload, title)


def what_if_job(payload: dict[str, Any]) -> Job | None:
    return desk().jobs.queue.get(job_digest(retraining.WHAT_IF, payload))


def what_if_result(payload: dict[str, Any]) -> Result | None:
    """A finished what-if run."""
    digest = job_digest(retraining.WHAT_IF, payload)
    return Store(home()).read(digest) if Store(home()).has(digest) else None


def seconds(source: NoisySource, trainings: float = 3.5) -> float:
    """Guessed seconds of so many trainings; scoring with confident learning is about three and a half."""
    return cost(source.model_dump(mode="json"), trainings) + 3.0


def command(source: NoisySource, name: str = "noisy-labels", out: str = "suspicion.csv") -> str:
    """The command line that recomputes the scores, or what `name` computes."""
    return (f"python -m engine {name} --source "
            f"{shlex.quote(json.dumps(source.stated))} --out {out}")
