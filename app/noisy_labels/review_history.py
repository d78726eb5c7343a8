"""What was decided, the last first, by whomever; each can be taken back, now or after a reload."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.noisy_labels import review_example
from app.widgets.jobs import job_panel
from app.widgets.words import glossary
from app.widgets.words.times import moment
from engine.desk.analyses import Decision
from engine.desk.noisy_labels import NoisyData, Review


def show(sample: NoisyData, review: Review) -> None:
    """The last decisions, and a button that takes the selected ones back."""
    log = review.history()
    if not log:
        return
    with st.expander("History of decisions", icon=":material/history:"):
        glossary.caption("Select decisions to undo them; the earlier decision, if any, applies again. Decisions made "
                         "for many examples at once are undone together.")
        event = st.dataframe(_table(sample, review, log), hide_index=True, width="stretch", key="history:table",
                             on_select="rerun", selection_mode="multi-row", alt=f"The last {len(log)} decisions")
        events = list(dict.fromkeys(log[at].event for at in event["selection"]["rows"] if at < len(log)))
        st.button(f"Take back {len(events)}", key="history:undo", icon=":material/undo:", disabled=not events,
                  on_click=job_panel.act, args=(_take_back, review, events))


def _table(sample: NoisyData, review: Review, log: Sequence[Decision]) -> pd.DataFrame:
    names, zone = sample.dataset.class_names, st.context.timezone
    return pd.DataFrame([{
        "when": moment(one.at, zone), "example": review_example.called(sample, one.row),
        "given": names[sample.evidence.y[one.row]], "decided": review_example.MARKS[one.verdict],
        "right label": "" if one.label is None else names[one.label], "note": one.note,
        "by": "you, here" if one.session == review.session else "elsewhere"} for one in log])


def _take_back(review: Review, events: Sequence[str]) -> None:
    for event in events:
        review.take_back(event)
