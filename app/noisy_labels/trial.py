"""Which ranking to look at first on these data, and the trial that says so."""

from __future__ import annotations

import dataclasses

import streamlit as st

from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import NoisySource, Pair, Scored, Trial, TrialRequest

SHOWN = ("method", "behavior", "AUPRC", "AUROC", "weight")


def weighed(source: NoisySource, scored: Scored) -> Scored:
    """The search with the consensus as a finished trial weighs it; as it is without one."""
    tried = desk().known(TrialRequest(source=source))
    if not isinstance(tried, Trial):
        return scored
    return dataclasses.replace(scored, suspicion=tried.with_consensus(scored.suspicion))


def show(source: NoisySource, scored: Scored, pair: Pair) -> None:
    """What the trial recommends, or the button that starts it."""
    tried = desk().known(TrialRequest(source=source))
    if tried is None:
        glossary.caption("Which method to trust depends on the data. A trial flips 5% of these labels, among examples "
                         "that look correctly labelled, and measures which method detects them.")
        st.button("Run a trial on these data", key="try", icon=":material/science:", on_click=job_panel.act,
                  args=(desk().start, TrialRequest(source=source)))
    elif (answer := job_panel.beside(tried, "The trial failed: ")) is not None:
        first = searches.by_trial(scored.suspicion, answer)
        if first is not None:
            order = " The list follows this order." if first.pair == pair else ""
            glossary.caption(f"Recommended: **{first.pair.title}**: {first.why}.{order}")
        _table(source, answer)


def _table(source: NoisySource, tried: Trial) -> None:
    with st.expander(f"What the trial measured: {tried.planted:,} flipped labels"):
        table = tried.table[list(SHOWN)].rename(columns={"weight": "weight in the consensus"})
        st.dataframe(table, hide_index=True)
        downloads.chart_extras("trial", table, command=searches.command(source, "label-trial", "trial.csv"))
