"""One finished run: its tables, its manifest, and everything as files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from app.paper import reproductions
from app.runs import list as run_list
from app.widgets import choice, glossary, manifest_view
from app.widgets.desk import desk
from engine.basics.errors import InvalidInput
from engine.experiments import EXPERIMENTS
from engine.jobs import Job
from engine.runs.scores import KIND as SCORES
from engine.runs.scores import scorings_of
from engine.store.results import Result, Store, home


def opened() -> Job | None:
    """The run that the address names; a digest that is not there is dropped with a message."""
    return choice.one("run", None, _parse)


def _parse(text: str) -> Job:
    job = desk().jobs.queue.get(text)
    if job is None:
        raise InvalidInput("there is no such run here; it was deleted, or belongs to another machine.")
    if job.state != "done" or not Store(home()).has(job.id):
        raise InvalidInput("this run has no result to show; see its state below.")
    return job


def show(job: Job) -> None:
    """The run in place of the list."""
    choice.keep("run", job.id)
    if st.button("All runs", icon=":material/arrow_back:", type="tertiary", key="all-runs"):
        choice.keep("run", [])
        st.rerun()
    st.subheader(job.title)
    result = Store(home()).read(job.id)
    if job.kind == SCORES:
        _scorings(job, result)
    elif job.kind in {experiment.study for experiment in EXPERIMENTS.values()}:
        _study(job, result)
    else:
        for name in result.tables:
            _table(name.replace("_", " ").capitalize(), _read(str(home()), result.digest, name))
    _downloads(job, result)
    st.markdown("##### Behind these numbers")
    manifest_view.show({**result.manifest, "seeds": result.manifest.get("seeds", [])}, f"run-{job.id[:12]}")
    run_list.delete_button(job)


def _table(title: str, table: pd.DataFrame) -> None:
    st.markdown(f"##### {title}")
    st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns),
                 alt=f"{title}, {len(table)} rows")


@st.cache_data(show_spinner=False, max_entries=16)
def _read(root: str, digest: str, name: str) -> pd.DataFrame:
    return Store(root).read(digest).table(name)


def _scorings(job: Job, result: Result) -> None:
    rows = []
    for scoring, run in zip(scorings_of(job.payload), result.manifest["runs"], strict=True):
        convergence = run["convergence"]
        rows.append({"behavior": scoring.axis("B"), "intervention": scoring.axis("P"), "process": scoring.axis("T"),
                     "answered by": scoring.route.title, "exact": scoring.exact,
                     "converged": f"{convergence['converged']} of {convergence['of']}",
                     "largest residual": convergence["largest_residual"], "seconds": run["wall_seconds"]})
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", alt="The specifications that this run scored",
                 column_config={"largest residual": st.column_config.NumberColumn(format="%.1e")})
    glossary.caption("The scores themselves are arrays (queries × candidates); download them below.")


def _study(job: Job, result: Result) -> None:
    """Every table and figure that comes out of a study's run, with its place on the Paper page and its command."""
    tables = {name: _read(str(home()), result.digest, name) for name in result.tables}
    preset = job.payload.get("preset", "")
    of_the_study = {name: experiment for name, experiment in EXPERIMENTS.items() if experiment.study == job.kind}
    asked = {name: experiment for name, experiment in of_the_study.items()
             if preset in experiment.presets and reproductions.digest(name, preset) == job.id}
    for name, experiment in (asked or of_the_study).items():
        _table(experiment.title, experiment.view(tables))
        if name in asked:
            st.page_link("../pages/paper.py", label="See it beside the paper's numbers", icon=":material/article:",
                         query_params={"experiment": name, "preset": preset})
            st.code(reproductions.command(name, preset), language="bash")


def _downloads(job: Job, result: Result) -> None:
    stem = f"run-{job.id[:12]}"
    with st.container(horizontal=True):
        for name in result.tables:
            _file(f"{name} (CSV)", f"{stem}-{name}.csv", "text/csv", partial(_csv, result, name))
            _file(f"{name} (parquet)", f"{stem}-{name}.parquet", "application/vnd.apache.parquet",
                  partial(_parquet, result, name))
        if any(name.endswith(".safetensors") for name in result.manifest["files"]):
            _file("Arrays (npz)", f"{stem}.npz", "application/octet-stream", partial(_npz, result))


def _file(label: str, name: str, mime: str, content: Callable[[], bytes]) -> None:
    st.download_button(label, content, name, mime, key=f"file:{name}", icon=":material/download:", on_click="ignore")


def _csv(result: Result, name: str) -> bytes:
    return result.table(name).to_csv(index=False).encode()


def _parquet(result: Result, name: str) -> bytes:
    buffer = io.BytesIO()
    result.table(name).to_parquet(buffer)
    return buffer.getvalue()


def _npz(result: Result) -> bytes:
    """The arrays, with the manifest as JSON text beside them."""
    buffer = io.BytesIO()
    names = {name.replace("|", "_"): array for name, array in result.arrays().items()}
    np.savez_compressed(buffer, manifest=json.dumps(result.manifest, ensure_ascii=False), **names)
    return buffer.getvalue()
