"""How alike the behaviors of a language study are, beside its table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.desk.published import collinear

LABELS = {"end": "End", "least": "Least"}


def show(manifest: Mapping[str, Any], key: str) -> None:
    """The cosines of the behaviors' mean query gradients, with a warning where two are not separated; nothing where
    the manifest has none."""
    cosines = collinear.table(manifest)
    if cosines.empty:
        return
    alike = cosines[cosines["least"] >= collinear.NEAR_ONE]
    with st.expander("How similar are these behaviors?", key=key):
        pairs = cosines["first"] + ", " + cosines["second"].str.lower()
        table = cosines[list(LABELS)].rename(columns=LABELS)
        table.insert(0, "Behaviors", pairs)
        st.dataframe(table, hide_index=True, width="content",
                     column_config={LABELS[name]: st.column_config.NumberColumn(format="%.3f")
                                    for name in ("end", "least")},
                     alt="Cosine of the mean query gradients of every two behaviors.")
        glossary.caption("Cosine between the mean query gradients of two behaviors, averaged over seeds: at the *end* "
                         "of the training, and the *least* over all checkpoints. If it is near 1, gradient-based "
                         "estimators give similar rankings with either behavior.")
    if len(alike):
        named = "; ".join(f"{row['first'].lower()} and {row['second'].lower()} ({row['least']:.2f})"
                          for row in alike.to_dict("records"))
        glossary.caption(f":material/warning: Not separated here: {plain(named)}. Their mean query gradients have a "
                         f"cosine of at least {collinear.NEAR_ONE} at every checkpoint, so no statement on a "
                         "difference between them can be decided.")
