"""The example in focus at the review desk: what it looks like, its ranks, and what is decided about it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np
import streamlit as st

from app.noisy_labels import review_keys, state
from app.noisy_labels.review_keys import NOT_KNOWN, NUMBERS
from app.widgets.examples import cards, pictures
from app.widgets.jobs import job_panel
from app.widgets.jobs import review as desk_review
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.desk.analyses import FINE, LONGEST_NOTE, UNSURE, WRONG, Decision
from engine.desk.datasets import Dataset
from engine.desk.noisy_labels import NoisyData, Pair, Review, Scored, rankings

MARKS = {WRONG: "✗ wrong", FINE: "✓ fine", UNSURE: "? unsure"}
SIMILAR = "a similar example"
BUTTONS = ((WRONG, "Wrong label", "w", ":material/close:"), (FINE, "Fine", "f", ":material/check:"),
           (UNSURE, "Unsure", "u", ":material/question_mark:"))
"""Verdict, title, key and icon."""


def show(sample: NoisyData, scored: Scored, review: Review, decisions: Mapping[int, Decision], pair: Pair, row: int,
         rows: list[int]) -> None:
    """The example in focus on the left, what can be decided about it on the right."""
    with st.container(border=True):
        index = rows.index(row)
        decided = mark(decisions.get(row))
        st.html(f'<div class="wf-known">{index + 1} of {len(rows)} flagged · {called(sample, row)} {decided}</div>')
        left, right = st.columns([1, 1.25], gap="large")
        with left:
            st.html(_looks(sample, scored, row))
        with right:
            _decide(sample, scored, review, decisions.get(row), row, rows)
        st.html(_alike(sample, scored, row)
                + ranks_html(rankings.all_ranks(scored.suspicion), pair, row, len(sample.evidence.y)))


def called(sample: NoisyData, row: int) -> str:
    """Which example it is: its file where it has one, and its rows."""
    files, at = sample.dataset.files, int(sample.rows[row])
    file = f"<b>{escape(files[at])}</b> · " if files else ""
    return f"{file}training example {row:,} (row {at:,} of the dataset)"


def _looks(sample: NoisyData, scored: Scored, row: int) -> str:
    """The picture with what is said of it."""
    names, given, said = sample.dataset.class_names, int(sample.evidence.y[row]), int(scored.predicted[row])
    shown = picture(sample.dataset, "train", int(sample.rows[row]), 132, f"training example {row}")
    lines = cards.facts([("given label", names[given]),
                         ("the model says", f"{names[said]}, with probability {scored.probability[row]:.2f}"),
                         ("p(given label)", f"{scored.own[row]:.2f}")])
    return f'<div class="wf-desk"><div>{shown}</div><div>{lines}</div></div>'


def _alike(sample: NoisyData, scored: Scored, row: int) -> str:
    """The examples that look most alike to the model: trusted ones, or others in doubt where none is trusted."""
    names, in_turn = sample.dataset.class_names, sample.source.in_turn
    near = "".join(
        f"<figure>{picture(sample.dataset, sample.trusted_split, int(sample.trusted_rows[at]), 60, SIMILAR)}"
        f"<figcaption>{escape(names[int(sample.evidence.trusted_y[at])])}</figcaption></figure>"
        for at in scored.nearest[row])
    title = "Most alike to a model that has not seen it, their labels unverified too" if in_turn else (
        "Nearest trusted examples")
    return f'<div class="wf-desk"><div><h6>{title}</h6><div class="wf-near">{near}</div></div></div>'


def picture(dataset: Dataset, split: str, index: int, side: int, alt: str) -> str:
    """A picture, or the first features where examples are none."""
    if dataset.image_shape is None:
        return cards.features(dataset.features(split, np.array([index]))[0], alt)
    return pictures.as_it_came(dataset, split, index, side, alt)


def ranks_html(all_ranks: Mapping[Pair, np.ndarray], chosen: Pair, row: int, n: int) -> str:
    """The rank under every specification, the chosen one in bold."""
    lines = "".join(f'<div class="{"own" if pair == chosen else ""}"><span>{escape(pair.title)}</span>'
                    f"<span>{int(ranks[row]):,}</span></div>" for pair, ranks in all_ranks.items())
    return (f'<div class="wf-desk"><div style="flex:1"><h6>Rank under each specification, of {n:,}</h6>'
            f'<div class="wf-ranks">{lines}</div></div></div>')


def _decide(sample: NoisyData, scored: Scored, review: Review, before: Decision | None, row: int,
            rows: list[int]) -> None:
    """The right label, a note, and the verdicts with their keys."""
    right = _right_label(sample, scored, before, row)
    buttons = st.container(horizontal=True)
    note = st.text_input("Note", before.note if before else "", key=f"note:{row}", max_chars=LONGEST_NOTE)
    for verdict, title, key, icon in BUTTONS:
        buttons.button(f"{title} ({key})", key=f"desk:{verdict}", icon=icon,
                       type="primary" if verdict == WRONG else "secondary", on_click=job_panel.act,
                       args=(desk_review.decide, review, state.look_at, rows, row, verdict,
                             right if verdict == WRONG else None,
                             note))
    _move(review, rows, rows.index(row))
    glossary.caption(f"Keys: {_numbers(sample)}; w wrong, f fine, u unsure, z undo, ← and → to move. Type as fast as "
                     "you like: keys are queued and done in order, and decisions are saved at once.")


def _numbers(sample: NoisyData) -> str:
    """Which number key stands for which right label."""
    said = ", ".join(f"{key} {plain(name)}" for key, name in zip(NUMBERS, sample.dataset.class_names, strict=False))
    more = " (the other classes by the box above)" if len(sample.dataset.class_names) > len(NUMBERS) else ""
    return f"the right label by its number, {said}{more}"


def _right_label(sample: NoisyData, scored: Scored, before: Decision | None, row: int) -> int | None:
    """The label to use if the given one is wrong; None where it is not known. A guess stands there first."""
    names, given = sample.dataset.class_names, int(sample.evidence.y[row])
    guess = review_keys.right_label(sample, scored, before, row)
    options = [NOT_KNOWN, *(label for label in range(len(names)) if label != given)]
    label = st.selectbox("Right label, if it is wrong", options, key=f"right:{row}",
                         index=options.index(NOT_KNOWN if guess is None else guess),
                         format_func=lambda index: "not known: remove it" if index == NOT_KNOWN else names[index])
    return None if label == NOT_KNOWN else label


def _move(review: Review, rows: list[int], index: int) -> None:
    """Undo, and the examples before and after."""
    further = st.container(horizontal=True)
    further.button("Undo (z)", key="desk:undo", icon=":material/undo:", on_click=job_panel.act,
                   args=(desk_review.undo, review, state.look_at), disabled=not review.has_own, help="Takes back your "
                                                                                                     "last decision.")
    further.button("", key="desk:back", icon=":material/chevron_left:", help="The one before",
                   disabled=index == 0, on_click=state.look_at, args=(rows[max(0, index - 1)],))
    further.button("", key="desk:on", icon=":material/chevron_right:", help="The one after",
                   disabled=index == len(rows) - 1, on_click=state.look_at,
                   args=(rows[min(len(rows) - 1, index + 1)],))


def mark(decision: Decision | None) -> str:
    """What was decided about an example, in a word; empty where nothing was."""
    if decision is None:
        return ""
    return f'· <span class="wf-mark-{decision.verdict}">{MARKS[decision.verdict]}</span>'
