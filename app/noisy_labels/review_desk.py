"""The review desk: flagged examples in rank order, one in focus, decided by key or click, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import PurePath

import streamlit as st

from app.noisy_labels import (
    review_bulk,
    review_duplicates,
    review_filter,
    review_history,
    review_pace,
    review_queue,
    review_reasons,
    review_screen,
    state,
)
from app.widgets.examples import cards
from app.widgets.jobs import review as desk_review
from app.widgets.jobs import review_screen as screens
from app.widgets.results import downloads, figures
from app.widgets.words import glossary
from engine.basics.csv_text import csv_text
from engine.desk import datasets
from engine.desk import noisy_labels as searches
from engine.desk.analyses import WRONG, Decision
from engine.desk.noisy_labels import (
    CONSENSUS,
    VERDICTS,
    NoisyData,
    Pair,
    Review,
    Scored,
    cleaned,
    cleaning,
    consensus,
    consequences,
    rankings,
)


def show(sample: NoisyData, scored: Scored, pair: Pair) -> None:
    """The desk: filters, the example in focus, the queue, and the exports."""
    st.html(screens.STYLE + cards.STYLE)
    batch = desk_review.batch_of(sample.fingerprint)
    review = Review(sample, session=desk_review.reviewer(batch))
    taken = desk_review.taken(review, batch, state.look_at)
    _recommended(sample, scored, pair)
    fraction, but_not, hide = _filters(scored, pair)
    chosen = review_filter.show(sample, scored)
    flagged = [int(row) for row in rankings.flagged(scored.suspicion, pair, fraction, but_not)]
    rows = chosen.passing(flagged, sample, scored, fraction)
    decisions = review.decisions()
    undecided = [row for row in rows if row not in decisions]
    glossary.caption(_summary(len(flagged), len(rows), decisions, len(undecided), pair, but_not))
    review_pace.show(decisions, flagged)
    if rows:
        focus = state.focus(rows, undecided)
        reasons = review_reasons.known(sample)
        screen = review_screen.screen(sample, scored, pair, rows,
                                      reasons if isinstance(reasons, searches.Reasons) else None)
        screens.show(screen, review, taken, decisions, focus)
        review_reasons.wait(reasons)
        review_queue.show(sample, scored, decisions, pair, undecided if hide else rows, focus)
        twins = review_duplicates.known(sample)
        review_bulk.show(sample, scored, review, decisions, pair, undecided if hide else rows, fraction,
                         twins if isinstance(twins, searches.Duplicates) else None)
        review_duplicates.show(sample, twins)
    elif flagged:
        st.info("No flagged example passes the filters; remove one of them.", icon=":material/filter_alt_off:")
    else:
        st.info("The other ranking flags every example that the first flags; choose another pair or a "
                "larger fraction.", icon=":material/filter_alt_off:")
    review_history.show(sample, review)
    _exports(sample, review, decisions)


def _recommended(sample: NoisyData, scored: Scored, pair: Pair) -> None:
    """Which ranking to look at first, and why."""
    first = searches.recommended(sample, scored)
    if first is None:
        return
    order = ""
    if first.pair == pair:
        order = " The list follows this order."
    elif pair == CONSENSUS:
        voters = ", ".join(voter.title for voter in consensus.voting(scored.suspicion, scored.by_heart))
        order = f" The list is ordered by the consensus of {voters}."
    glossary.caption(f"Recommended: **{first.pair.title}**: {first.why}.{order}")


def _filters(scored: Scored, pair: Pair) -> tuple[float, Pair | None, bool]:
    left, middle, right = st.columns([1, 1.2, 1], gap="large", vertical_alignment="bottom")
    with left:
        fraction = state.fraction()
    with middle:
        but_not = state.but_not([other for other in scored.suspicion if other != pair])
    with right:
        return fraction, but_not, state.hide_decided()


def _summary(flagged: int, shown: int, decisions: Mapping[int, Decision], undecided: int, pair: Pair,
             but_not: Pair | None) -> str:
    counts = {verdict: sum(decision.verdict == verdict for decision in decisions.values()) for verdict in VERDICTS}
    said = " · ".join(f"{count:,} {VERDICTS[verdict]}{'s' if verdict == WRONG and count > 1 else ''}"
                      for verdict, count in counts.items() if count) or "nothing yet"
    beside = f", not by {but_not.title}" if but_not else ""
    passing = f", {shown:,} of them pass the filters" if shown < flagged else ""
    return (f"{flagged:,} labels flagged by {pair.title}{beside}{passing} · {undecided:,} not yet decided · decided "
            f"so far in these data: {said}")


def _exports(sample: NoisyData, review: Review, decisions: Mapping[int, Decision]) -> None:
    with st.expander(f"Decisions ({len(decisions):,}), downloads and import", icon=":material/fact_check:"):
        if decisions:
            table = review.table().drop(columns="data")
            st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns))
        with st.container(horizontal=True):
            downloads.file_button("Review (CSV)", review.to_csv, "review.csv", "text/csv", "desk:csv",
                                  disabled=not decisions)
            downloads.file_button(
                "Cleaned index (CSV)", lambda: csv_text(cleaned(sample, decisions)), "cleaned-index.csv",
                "text/csv", "desk:cleaned",
                help="The remaining rows of the dataset's training split with their labels, corrected as you "
                     "decided; wrong ones without a right label are left out.")
        if sample.source.is_own:
            _own(sample, decisions)
        _import(review)
        glossary.caption(
            f"Decisions are stored in your results folder under the fingerprint {sample.fingerprint[:12]} of these "
            "images and labels; a review of other data is refused.")


def _own(sample: NoisyData, decisions: Mapping[int, Decision]) -> None:
    """What comes of a user's own data: a cleaned copy, moves, and a list by path."""
    glossary.markdown("**Your own data, cleaned**")
    reading = datasets.reading(sample.source.dataset)
    changed = any(consequences(decisions)) or bool(reading.classes) or any(reading.trusted.values())
    with st.container(horizontal=True):
        form, name = cleaning.format_of(sample), figures.named(PurePath(datasets.title(sample.source.dataset)).stem)
        downloads.file_button(form.title, partial(cleaning.copy, sample, decisions), f"{name}-cleaned{form.suffix}",
                              form.mime, "desk:copy", disabled=not changed,
                              help="The data as read, with corrected labels and without removed examples.")
        downloads.file_button("Changes by path (CSV)", lambda: csv_text(cleaning.decided_by_path(sample, decisions)),
                              "decided.csv", "text/csv", "desk:decided", disabled=not any(consequences(decisions)),
                              help="What `clean-data --changes` reads on the command line.")
        if sample.dataset.image_shape is not None:
            downloads.file_button("Moves (shell script)", partial(cleaning.script, sample, decisions), "moves.sh",
                                  "text/x-shellscript", "desk:moves", disabled=not changed,
                                  help="Run it in your folder: it moves relabelled images to their class, and "
                                       f"removed ones to `{cleaning.REMOVED}`. It deletes and overwrites nothing.")


def _import(review: Review) -> None:
    file = st.file_uploader("Import a review that was exported here", type=["csv"], key="desk:import")
    if file is None or st.session_state.get("desk_imported") == file.file_id:
        return
    st.session_state["desk_imported"] = file.file_id
    count = review.import_csv(file.getvalue())
    st.toast(f"{count:,} decisions were added.", icon=":material/check:")
    st.rerun()
