"""Decisions about the listed records: taken out, kept or unsure, by key or click, and what is left of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from app.language import state
from app.widgets.jobs import job_panel, key_queue
from app.widgets.jobs import review as desk_review
from app.widgets.jobs.review import BACK, ON, UNDO, decide, neighbour, undo
from app.widgets.jobs.review import VERDICTS as VERDICT_KEYS
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.desk import language
from engine.desk.analyses import FINE, UNSURE, WRONG, Decision
from engine.desk.language import VERDICTS, RecordReview, Study

ICONS = {WRONG: ":material/delete_sweep:", FINE: ":material/check:", UNSURE: ":material/help:"}
COLUMN = "decision"


def open_review(wanted: Study) -> RecordReview:
    """The decisions about the records that a run was trained on."""
    return RecordReview(language.task_of(wanted.setting.task), session=desk_review.token())


def listen(review: RecordReview, rows: Sequence[int]) -> None:
    """Do what was pressed since the last run of the page; call it before decisions are read. rows: the listed ones."""
    key_queue.taken(f"{review.session} {review.fingerprint}", (*VERDICT_KEYS, UNDO, BACK, ON),
                    partial(_pressed, review, rows))


def marked(shown: pd.DataFrame, decisions: Mapping[int, Decision]) -> pd.DataFrame:
    """The listed records with what was decided about each."""
    verdicts = [VERDICTS[decisions[row].verdict] if row in decisions else "" for row in shown["record"]]
    column = list(shown.columns).index("record") + 1
    return pd.concat([shown.iloc[:, :column], pd.Series(verdicts, shown.index, name=COLUMN), shown.iloc[:, column:]],
                     axis=1)


def buttons(review: RecordReview, decisions: Mapping[int, Decision], row: int, rows: Sequence[int]) -> None:
    """The verdicts on the opened record."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for key, verdict in VERDICT_KEYS.items():
            st.button(f"{VERDICTS[verdict].capitalize()} ({key.upper()})", key=f"language:{verdict}",
                      icon=ICONS[verdict], on_click=job_panel.act, args=(decide, review, _look_at, rows, row, verdict))
        st.button("Undo (Z)", key="language:undo", icon=":material/undo:", disabled=not review.has_own,
                  on_click=job_panel.act, args=(undo, review, _look_at))
        if row in decisions:
            verdict = decisions[row].verdict
            st.html(f'<span class="wf-mark-{verdict}">{VERDICTS[verdict]}</span>', width="content")
    glossary.caption("Keys: **W** takes it out, **F** keeps it, **U** is unsure, **Z** takes back; ← and → go on "
                     "without a decision.")


def exports(wanted: Study, review: RecordReview, decisions: Mapping[int, Decision]) -> None:
    """What was decided, and the records without those that are taken out."""
    out = sum(decision.verdict == WRONG for decision in decisions.values())
    with st.expander(f"Decisions ({len(decisions):,}) and cleaned records", icon=":material/fact_check:"):
        if decisions:
            table = review.table().drop(columns=["data", "note"])
            st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns),
                         alt=f"{len(decisions)} decisions about training records")
        with st.container(horizontal=True):
            downloads.file_button("Decisions (CSV)", review.to_csv, "record-decisions.csv", "text/csv",
                                  "language:decisions", disabled=not decisions)
            downloads.file_button(f"Cleaned records (JSONL), without {out:,}", partial(_cleaned, wanted, review),
                                  "cleaned-records.jsonl", "application/jsonl", "language:cleaned", disabled=not out,
                                  help="One record a line, as *Your own records* reads them; of a file of your own, "
                                       "the held-out queries stand at its end again.")
        glossary.caption(f"Decisions lie in your results folder under the fingerprint {review.fingerprint[:12]} of "
                         "these records, for every model and question.")


def _cleaned(wanted: Study, review: RecordReview) -> str:
    task = language.task_of(wanted.setting.task)
    return review.cleaned(task.queries[task.reference] if wanted.task == "own" else ())


def _pressed(review: RecordReview, rows: Sequence[int], key: str) -> None:
    row = state.opened(rows)
    if key == UNDO:
        undo(review, _look_at)
    elif key in VERDICT_KEYS:
        decide(review, _look_at, rows, row, VERDICT_KEYS[key])
    else:
        state.open_record(neighbour(rows, row, key))


def _look_at(row: int | None) -> None:
    """Where every record is decided, the last one stays open."""
    if row is not None:
        state.open_record(row)
