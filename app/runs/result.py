"""One finished run: its tables, its manifest, and everything as files."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from app.runs import data, panel, state
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads, manifest_view
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.desk.published import conventions, studies
from engine.desk.shelves import Job, Result, ScoresRequest, exports


def show(job: Job) -> None:
    """The run in place of the list."""
    state.open_run(job.id)
    if st.button("All runs", icon=":material/arrow_back:", type="tertiary", key="all-runs"):
        state.close_run()
        st.rerun()
    st.subheader(plain(job.title))
    result = desk().jobs.store.read(job.id)
    if job.kind == ScoresRequest.name:
        _scorings(job, result)
    elif data.is_study(job):
        _study(job, result)
    else:
        for name in result.tables:
            _table(name.replace("_", " ").capitalize(), data.table(result, name))
    _downloads(job, result)
    st.markdown("##### Provenance of these numbers")
    manifest_view.show({**result.manifest, "seeds": result.manifest.get("seeds", [])}, f"run-{job.id[:12]}")
    panel.delete_button(job)


def _table(title: str, table: pd.DataFrame) -> None:
    st.markdown(f"##### {title}")
    st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns),
                 alt=f"{title}, {len(table)} rows")


def _scorings(job: Job, result: Result) -> None:
    st.dataframe(data.scored(job, result), hide_index=True, width="stretch",
                 alt="The specifications that this run scored")
    glossary.caption("The scores themselves are arrays (queries × candidates); download them below.")


def _study(job: Job, result: Result) -> None:
    """Every table and figure that comes out of a study's run, with its place on the Paper page and its command."""
    tables = {name: data.table(result, name) for name in result.tables}
    preset, reproduced = job.payload.get("preset", ""), data.reproduced(job)
    whose = conventions.of(job.payload.get("settings", {}))
    for name, experiment in (reproduced or data.of_study(job)).items():
        _table(experiment.title, experiment.view(tables))
        if name in reproduced:
            st.page_link("../pages/paper.py", label="Compare with the paper's numbers", icon=":material/article:",
                         query_params={"experiment": name, "preset": preset, "as": whose})
            st.code(studies.command(name, preset, conventions=whose), language="bash")


def _downloads(job: Job, result: Result) -> None:
    stem = f"run-{job.id[:12]}"
    with st.container(horizontal=True):
        for name in result.tables:
            downloads.file_button(f"{name} (CSV)", partial(exports.csv, result, name), f"{stem}-{name}.csv",
                                  "text/csv", f"file:{stem}-{name}.csv")
            downloads.file_button(f"{name} (parquet)", partial(exports.parquet, result, name),
                                  f"{stem}-{name}.parquet", "application/vnd.apache.parquet",
                                  f"file:{stem}-{name}.parquet")
        if exports.has_arrays(result):
            downloads.file_button("Arrays (npz)", partial(exports.npz, result), f"{stem}.npz",
                                  "application/octet-stream", f"file:{stem}.npz")
