"""The review desk of the listed records: the one that is opened, decided by key or click, and what is left of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app.language import record_html, state
from app.widgets.examples import record_text
from app.widgets.jobs import review as desk_review
from app.widgets.jobs import review_screen as screens
from app.widgets.jobs.review import Taken
from app.widgets.jobs.review_screen import Screen
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.desk import language
from engine.desk.analyses import FINE, UNSURE, WRONG, Decision
from engine.desk.language import Ranking, RecordReview, Study

COLUMN = "decision"
MARKS = {WRONG: "✗ wrong", FINE: "✓ keep", UNSURE: "? unsure"}
WORDS = {"wrong": "Remove (w)", "fine": "Keep (f)", "unsure": "Unsure (u)", "one": "record", "listed": "listed",
         "done": "Every listed record has been decided."}
_OPENED = "language:on_screen"


def open_review(wanted: Study) -> tuple[RecordReview, Taken]:
    """The decisions about the records that a run was trained on, with what came from the browser."""
    task = language.task_of(wanted.setting.task)
    batch = desk_review.batch_of(task.fingerprint)
    review = RecordReview(task, session=desk_review.reviewer(batch))
    return review, desk_review.taken(review, batch, _follow)


def marked(shown: pd.DataFrame, review: RecordReview, decisions: Mapping[int, Decision]) -> pd.DataFrame:
    """The listed records with what was decided about each."""
    verdicts = [" ".join(review.words(decisions[row])) if row in decisions else "" for row in shown["record"]]
    column = list(shown.columns).index("record") + 1
    return pd.concat([shown.iloc[:, :column], pd.Series(verdicts, shown.index, name=COLUMN), shown.iloc[:, column:]],
                     axis=1)


def show(wanted: Study, shown: pd.DataFrame, records: pd.DataFrame, ranking: Ranking, review: RecordReview,
         taken: Taken, decisions: Mapping[int, Decision], row: int) -> None:
    """The screen with the listed records, of which `row` is opened. records: all, in the order of the training set."""
    if st.session_state.get(_OPENED, row) != row:
        desk_review.put(row)
    st.session_state[_OPENED] = row
    st.html(screens.STYLE + record_text.STYLE + record_html.STYLE)
    rows = tuple(int(one) for one in shown["record"])
    ranks = dict(zip(rows, shown["rank"], strict=True))
    view = f"{wanted.digest} {ranking.method.name} {ranking.behavior} {ranking.layer} {shown['score'].iloc[0]}"
    screens.show(Screen(review.fingerprint, view, rows, review.choices, MARKS, WORDS,
                        partial(_page, records, ranking, review, ranks)), review, taken, decisions, row)
    answers = " A digit selects the right answer." if review.choices else ""
    glossary.caption("Keys: **W** removes a record, **F** keeps it, **U** marks it unsure, **Z** undoes; ← and → move "
                     f"without a decision.{answers} *Correct the response* replaces it.")


def _page(records: pd.DataFrame, ranking: Ranking, review: RecordReview, ranks: Mapping[int, int], rows: Sequence[int]
          ) -> dict[str, dict[str, Any]]:
    """Some records as the browser draws them."""
    of_behaviors = ranking.ranks(records)
    return {str(row): {"called": f"rank {ranks[row]:,} · record {row:,}", "suggested": None, "given": review.given(row),
                       "text": review.records[row].response,
                       "looks": record_html.record_html(records.iloc[row], None),
                       "reasons": record_html.ranks_html(of_behaviors.iloc[row], ranking.behavior, len(records))}
            for row in rows}


def exports(wanted: Study, review: RecordReview, decisions: Mapping[int, Decision]) -> None:
    """What was decided, and the corrected records, without those that are taken out."""
    wrong = sum(decision.verdict == WRONG for decision in decisions.values())
    with st.expander(f"Decisions ({len(decisions):,}) and cleaned records", icon=":material/fact_check:"):
        if decisions:
            table = review.table().drop(columns=["data", "note"])
            st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns),
                         alt=f"{len(decisions)} decisions about training records")
        with st.container(horizontal=True):
            downloads.file_button("Decisions (CSV)", review.to_csv, "record-decisions.csv", "text/csv",
                                  "language:decisions", disabled=not decisions)
            downloads.file_button("Cleaned records (JSONL)", partial(_cleaned, wanted, review),
                                  "cleaned-records.jsonl", "application/jsonl", "language:cleaned", disabled=not wrong,
                                  help="One record per line, in your file's format, with corrected answers and "
                                       "responses and without removed records; other lines are unchanged.")
        glossary.caption(f"Decisions are stored in your results folder under the fingerprint {review.fingerprint[:12]} "
                         "of these records, for every model and question.")


def _cleaned(wanted: Study, review: RecordReview) -> str:
    if wanted.task != "own":
        return review.cleaned()
    task = language.task_of(wanted.setting.task)
    return review.cleaned(task.queries[task.reference], language.content_of(wanted.setting.task))


def _follow(row: int | None) -> None:
    """Open the record that is on the screen; where every record is decided, the last one stays open."""
    if row is not None:
        st.session_state[_OPENED] = row
        state.open_record(row)
