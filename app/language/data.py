"""What the Language models page asks of the engine: whether a run is done, its tables, and the start of one."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.widgets.desk import desk
from engine.experiments.language_asked import Asked
from engine.jobs import Job
from engine.models.causal import loading
from engine.runs import language as language_run
from engine.store.results import Result, Store, home


def job(asked: Asked) -> Job | None:
    return desk().jobs.queue.get(asked.digest)


def result(asked: Asked) -> Result | None:
    """Its finished run; None where there is none."""
    return Store(home()).read(asked.digest) if Store(home()).has(asked.digest) else None


def start(asked: Asked) -> None:
    """Queue the run, or take it up where it stopped. Raises one sentence for a model or task that cannot be had."""
    loading.find(asked.model)
    desk().jobs.take_up(language_run.KIND, asked.payload, asked.title)


def shading(asked: Asked, row: int) -> Job | None:
    """The job that takes one record's scores apart, if it was asked for."""
    return desk().jobs.queue.get(asked.shading_digest(row))


def shade(asked: Asked, row: int) -> None:
    """Queue that job, or take it up where it stopped."""
    desk().jobs.take_up(language_run.TOKENS, asked.shading(row), f"Tokens of record {row} · {asked.title}")


def more_tokens(asked: Asked, row: int) -> pd.DataFrame:
    """The contributions that this job found; empty where it was not asked for."""
    digest = asked.shading_digest(row)
    return tables(str(home()), digest)["tokens"] if Store(home()).has(digest) else pd.DataFrame()


@st.cache_data(show_spinner=False, max_entries=16)
def tables(root: str, digest: str) -> dict[str, pd.DataFrame]:
    """Every table of a run."""
    found = Store(root).read(digest)
    return {name: found.table(name) for name in found.tables}
