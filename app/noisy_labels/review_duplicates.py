"""Near-duplicates beside the review desk: how many there are, where their labels differ, which are in two splits."""

from __future__ import annotations

import streamlit as st

from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.basics.csv_text import csv_text
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import Duplicates, DuplicatesRequest, NoisyData
from engine.desk.waiting import Waiting

MOST = 500
"""Pairs in the table; the file has all."""


def known(sample: NoisyData) -> Duplicates | Waiting | str | None:
    """The near-duplicates of these data, what to wait for, or None where nobody asked for them."""
    return desk().known(_request(sample))


def show(sample: NoisyData, answer: Duplicates | Waiting | str | None) -> None:
    """The panel: a button to look for them, or the pairs."""
    with st.expander("Near-duplicates and leaks between splits", icon=":material/difference:"):
        if isinstance(answer, Duplicates):
            _result(sample, answer)
        elif answer is not None:
            job_panel.beside(answer)
        else:
            glossary.caption("Exact and near-duplicates, by the pixels or features that the "
                             "model reads, and examples that occur in two splits.")
            st.button("Look for near-duplicates", key="duplicates", icon=":material/search:", on_click=job_panel.act,
                      args=(desk().start, _request(sample)))


def _result(sample: NoisyData, duplicates: Duplicates) -> None:
    glossary.markdown(duplicates.sentence)
    if not len(duplicates.pairs):
        return
    named = duplicates.named(sample).drop(columns=["row_a", "row_b"])
    named = named.sort_values("label_a", key=lambda labels: labels == named["label_b"], kind="stable")
    st.dataframe(named[:MOST], hide_index=True, width="stretch", key="duplicates:table",
                 alt=f"{min(MOST, len(named))} pairs of near-duplicates")
    glossary.caption("Pairs whose labels differ come first: one label of each is wrong, or both are. The distance is a "
                     "multiple of the median distance to a nearest neighbor.")
    downloads.file_button("Pairs (CSV)", lambda: csv_text(duplicates.named(sample)), "near-duplicates.csv", "text/csv",
                          "duplicates:csv")
    st.code(searches.command(sample.source, "near-duplicates", "pairs.csv"), language="bash", wrap_lines=True)


def _request(sample: NoisyData) -> DuplicatesRequest:
    return DuplicatesRequest(source=sample.source)
