"""Decisions about the listed records: taken out, kept or unsure, by key or click, and what is left of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from app.language import state
from app.widgets.jobs import job_panel, key_queue, reviewer
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.desk import language
from engine.desk.language import FINE, UNSURE, VERDICTS, WRONG, Decision, RecordReview, Study

KEYS = {"w": WRONG, "f": FINE, "u": UNSURE}
ICONS = {WRONG: ":material/delete_sweep:", FINE: ":material/check:", UNSURE: ":material/help:"}
UNDO, BACK, ON = "z", "ArrowLeft", "ArrowRight"
COLUMN = "decision"


def open_review(wanted: Study) -> RecordReview:
    """The decisions about the records that a run was trained on."""
    return RecordReview(language.task_of(wanted.setting.task), session=reviewer.token())


def listen(review: RecordReview, rows: Sequence[int]) -> None:
    """Do what was pressed since the last run of the page; call it before decisions are read. rows: the listed ones."""
    key_queue.taken(f"{review.session} {review.fingerprint}", (*KEYS, UNDO, BACK, ON), partial(_pressed, review, rows))


def marked(shown: pd.DataFrame, decisions: Mapping[int, Decision]) -> pd.DataFrame:
    """The listed records with what was decided about each."""
    told = [VERDICTS[decisions[row].verdict] if row in decisions else "" for row in shown["record"]]
    place = list(shown.columns).index("record") + 1
    return pd.concat([shown.iloc[:, :place], pd.Series(told, shown.index, name=COLUMN), shown.iloc[:, place:]], axis=1)


def buttons(review: RecordReview, decisions: Mapping[int, Decision], row: int, rows: Sequence[int]) -> None:
    """The verdicts on the opened record."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for key, verdict in KEYS.items():
            st.button(f"{VERDICTS[verdict].capitalize()} ({key.upper()})", key=f"language:{verdict}",
                      icon=ICONS[verdict], on_click=job_panel.act, args=(_take, review, row, verdict, rows))
        st.button("Undo (Z)", key="language:undo", icon=":material/undo:", disabled=not review.has_own,
                  on_click=job_panel.act, args=(_undo, review))
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
            told = review.table().drop(columns=["data", "note"])
            st.dataframe(told, hide_index=True, width="stretch", column_config=glossary.columns(told.columns),
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
        _undo(review)
    elif key in KEYS:
        _take(review, row, KEYS[key], rows)
    else:
        step = 1 if key == ON else -1
        state.open_record(rows[min(max(rows.index(row) + step, 0), len(rows) - 1)])


def _take(review: RecordReview, row: int, verdict: str, rows: Sequence[int]) -> None:
    """Record a verdict, and go on to the next record that is not decided."""
    review.decide(row, verdict)
    decided, place = review.decisions(), rows.index(row)
    following = next((other for other in [*rows[place + 1:], *rows[:place]] if other not in decided), None)
    if following is not None:
        state.open_record(following)


def _undo(review: RecordReview) -> None:
    taken = review.undo()
    if taken is not None:
        state.open_record(taken.row)
