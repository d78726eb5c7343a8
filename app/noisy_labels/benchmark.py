"""The published comparison of methods: which one has the highest average precision on which kind of label noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.basics.values import capital
from engine.desk import published

NAME, PRESET = "label-methods", "large"
CLEANLAB = ("Confident learning", "Self-confidence", "Normalised margin")
CHOSEN = "Recommended by the trial"
"""No method of its own: on each set it is one of the others."""


def show(own: bool) -> None:
    """The table, closed at first. own: whether a trial on these data stands above it."""
    result = published.reproduction(NAME, PRESET)
    if result is None:
        return
    with st.expander("Methods compared on human labels, planted errors and tables", icon=":material/leaderboard:"):
        table = highest(result.table, result.manifest["spec"]["sets"])
        counts = table["highest"].value_counts()
        glossary.markdown(f"**{counts.index[0]}** has the highest average precision (AUPRC) on {counts.iloc[0]} of "
                          f"{len(table)} sets, and {len(counts)} different methods have the highest on at least one "
                          "set.")
        st.dataframe(table, hide_index=True, width="stretch", key="benchmark:table",
                     alt=f"The method with the highest AUPRC on {len(table)} sets of labels",
                     column_config={"difference": st.column_config.NumberColumn(format="%+.3f", help=(
                         "AUPRC of the highest method minus the highest of cleanlab's three scores, paired over "
                         "seeds; ± is half its 95% interval."))})
        where = "the trial above" if own else "once you search labels of your own, a trial"
        glossary.caption(f"All read the same features of the same examples, for {int(result.table['n_seeds'].max())} "
                         f"seeds. {capital(where)} measures them on your data.")
        downloads.chart_extras("label-methods", result.table, command=result.manifest["command"])


def highest(table: pd.DataFrame, sets: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row a set: its noise, the method that is highest, and how far above the best of cleanlab's scores it is.

    table: as it is published; sets: title -> setting, of which one names its human labels or its planted noise.
    """
    rows = []
    for title, own in table[table["method"] != CHOSEN].groupby("set", sort=False):
        auprc = own[own["metric"] == "AUPRC"].sort_values("mean", ascending=False, kind="stable").iloc[0]
        theirs = own[(own["metric"] == "AUPRC") & own["method"].isin(CLEANLAB)]["mean"].max()
        beyond = own[(own["metric"] == "AUPRC beyond cleanlab") & (own["method"] == auprc["method"])
                     & (own["behavior"] == auprc["behavior"])].iloc[0]
        setting = sets.get(str(title), {"noise": "symmetric"})
        rows.append({"labels": title, "noise": "human" if "human" in setting else f"planted, {setting['noise']}",
                     "highest": auprc["method"], "AUPRC": round(float(auprc["mean"]), 2),
                     "cleanlab": round(float(theirs), 2), "difference": float(beyond["mean"]),
                     "±": round(float(beyond["ci95"]), 3)})
    return pd.DataFrame(rows)
