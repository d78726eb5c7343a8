"""Many flagged examples decided at once: a table to select in, and one verdict for what is selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from app.noisy_labels import data, review_example, review_screen
from app.widgets.examples import pictures
from app.widgets.jobs import job_panel
from app.widgets.jobs import review as desk_review
from app.widgets.words import glossary
from engine.desk.analyses import FINE, UNSURE, WRONG, Decision
from engine.desk.noisy_labels import Duplicates, NoisyData, Pair, Review, Scored, consensus, rankings

MOST = 500
"""Rows of the table; filters leave fewer."""
GUESSED, REMOVED = -1, -2
NO_CLASS = {REMOVED: "unknown: remove them", GUESSED: "use each suggestion; remove examples without one"}
BUTTONS = ((WRONG, "Wrong label", ":material/close:"), (FINE, "Fine", ":material/check:"),
           (UNSURE, "Unsure", ":material/question_mark:"))
"""Verdict, title and icon."""


def show(sample: NoisyData, scored: Scored, review: Review, decisions: Mapping[int, Decision], pair: Pair,
         rows: Sequence[int], fraction: float, twins: Duplicates | None) -> None:
    """The table of what is flagged and shown, and the verdict on its selection. twins: the near-duplicates, if they are
    known."""
    listed = list(rows[:MOST])
    with st.expander(f"Review many at once ({len(rows):,} shown)", icon=":material/checklist:"):
        more = f" The first {MOST} of {len(rows):,}; filter to see the others." if len(rows) > MOST else ""
        glossary.caption(f"Select some or all rows and give one verdict; *Undo* reverts it for all of them.{more}")
        everything = st.toggle(f"All {len(listed):,} rows", key="bulk:all")
        event = st.dataframe(_table(sample, scored, decisions, pair, listed, fraction), hide_index=True,
                             width="stretch", key=f"bulk:{pair.title}", on_select="rerun", selection_mode="multi-row",
                             column_config={"picture": st.column_config.ImageColumn("image", width="small")})
        selected = listed if everything else [listed[at] for at in event["selection"]["rows"] if at < len(listed)]
        if twins is not None and len(twins.pairs) and st.toggle(
                "With their near-duplicates", key="bulk:twins",
                help="Adds near-duplicates among the searched examples, flagged or not."):
            selected = twins.with_twins(selected)
        _act(sample, scored, review, decisions, selected)


def _table(sample: NoisyData, scored: Scored, decisions: Mapping[int, Decision], pair: Pair, rows: Sequence[int],
           fraction: float) -> pd.DataFrame:
    names, dataset = sample.dataset.class_names, sample.dataset
    ranks = rankings.all_ranks({pair: scored.suspicion[pair]})[pair]
    votes = consensus.votes(scored.suspicion, scored.by_heart, fraction)
    table = pd.DataFrame([{
        "picture": _picture(sample, row),
        "example": dataset.files[sample.rows[row]] if dataset.files else f"row {int(sample.rows[row]):,}",
        "given": names[sample.evidence.y[row]], "predicted": names[scored.predicted[row]],
        "p(given)": round(float(scored.own[row]), 3), "rank": int(ranks[row]), "methods that flag it": int(votes[row]),
        "decided": review_example.MARKS[decisions[row].verdict] if row in decisions else ""} for row in rows])
    return data.beside(table, sample, rows) if len(table) else table


def _picture(sample: NoisyData, row: int) -> str:
    dataset, at = sample.dataset, int(sample.rows[row])
    url = pictures.original_url(dataset, "train", at, 64) or pictures.data_url(dataset.key, "train", at, dataset)
    return url or ""


def _act(sample: NoisyData, scored: Scored, review: Review, decisions: Mapping[int, Decision],
         selected: Sequence[int]) -> None:
    names = sample.dataset.class_names
    label = st.selectbox("Right label, if they are wrong", [*NO_CLASS, *range(len(names))], key="bulk:label",
                         format_func=lambda index: names[index] if index >= 0 else NO_CLASS[index])
    with st.container(horizontal=True):
        for verdict, title, icon in BUTTONS:
            st.button(f"{title}: {len(selected):,}", key=f"bulk:{verdict}", icon=icon, disabled=not selected,
                      on_click=job_panel.act,
                      args=(decide, sample, scored, review, decisions, tuple(selected), verdict, label))
        st.button("Undo", key="bulk:undo", icon=":material/undo:", on_click=job_panel.act,
                  args=(desk_review.undo, review, review_screen.look_at), disabled=not review.has_own,
                  help="Reverts your last verdict, for one example or many.")


def decide(sample: NoisyData, scored: Scored, review: Review, decisions: Mapping[int, Decision], rows: Sequence[int],
           verdict: str, label: int) -> None:
    """One verdict about many rows; one that has that label already is left as it is, and one that was decided elsewhere
    since `decisions` were shown, which is said."""
    labels: dict[int, int | None] = dict.fromkeys(rows)
    if verdict == WRONG:
        right = {row: None if label == REMOVED else label if label != GUESSED else
                 (review_example.suggestion(sample, scored, row) or (None,))[0] for row in rows}
        labels = {row: one for row, one in right.items() if one != sample.evidence.y[row]}
    if left := len(labels) - review.decide_all(verdict, labels, decisions):
        st.toast(f"{left:,} of {len(labels):,} were decided elsewhere meanwhile and are unchanged.",
                 icon=":material/call_split:")
