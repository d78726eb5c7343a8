"""What the Runs page asks of the engine: the tables of a result, what a run scored, and what came out of a study."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.widgets.jobs.desk import desk
from engine.desk.published import EXPERIMENTS, Experiment, studies
from engine.desk.shelves import Job, Result, ScoresRequest
from engine.scoring.convergence import Convergence


def table(result: Result, name: str) -> pd.DataFrame:
    """One table of a result, kept for a few of them."""
    return _table(str(desk().jobs.root), result.digest, name)


@st.cache_data(show_spinner=False, max_entries=16)
def _table(root: str, digest: str, name: str) -> pd.DataFrame:
    return desk().jobs.store.read(digest).table(name)


def scored(job: Job, result: Result) -> pd.DataFrame:
    """The specifications that a run scored, one a row, with how well they were computed."""
    rows = []
    for scoring, run in zip(ScoresRequest.of_payload(job.payload).scorings, result.manifest["runs"], strict=True):
        convergence = Convergence.read(scoring.exact, run["convergence"])
        rows.append({"behavior": scoring.axis("B"), "intervention": scoring.axis("P"), "process": scoring.axis("T"),
                     "answered by": scoring.route.title, "exact": scoring.exact,
                     "how well": convergence.summary, "seconds": run["wall_seconds"]})
    return pd.DataFrame(rows)


def is_study(job: Job) -> bool:
    """Whether a job is one of the paper's studies."""
    return job.kind in {experiment.study for experiment in EXPERIMENTS.values()}


def reproduced(job: Job) -> dict[str, Experiment]:
    """Tables and figures that a study's job is the very reproduction of; empty where its settings are others."""
    return studies.of_job(job.id, job.kind, job.payload)


def of_study(job: Job) -> dict[str, Experiment]:
    """Tables and figures that come out of a study."""
    return {name: experiment for name, experiment in EXPERIMENTS.items() if experiment.study == job.kind}
