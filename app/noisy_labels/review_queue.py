"""The flagged examples of the review desk as cards, a page at a time; a click puts one in focus."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np
import streamlit as st

from app.noisy_labels import review_example, review_screen, state
from app.widgets.choices.selectors import pager
from app.widgets.words.plain_text import plain
from engine.desk.analyses import Decision
from engine.desk.noisy_labels import NoisyData, Pair, Scored, rankings

CARDS = 12


def show(sample: NoisyData, scored: Scored, decisions: Mapping[int, Decision], pair: Pair, rows: list[int],
         focus: int | None) -> None:
    """One page of cards, and the way to the others."""
    if not rows:
        return
    pages = -(-len(rows) // CARDS)
    page = state.page_of(pages, rows.index(focus) // CARDS if focus in rows else None, focus)
    ranking = rankings.all_ranks(scored.suspicion)[pair]
    with st.container(horizontal=True, gap="small", key="gallery"):
        for row in rows[page * CARDS:(page + 1) * CARDS]:
            with st.container(key=f"pick-{'chosen-' if row == focus else ''}desk-{row}", width=112, gap=None):
                _card(sample, scored, decisions.get(row), row, ranking)
    if pages > 1:
        pager("desk", page, CARDS, len(rows), state.turn_to, "; below each: given label → predicted label, rank.")


def face(sample: NoisyData, scored: Scored, row: int, below: str) -> str:
    """A flagged example: its picture, the given label, what the model says where that is another one, and `below`."""
    names, given, said = sample.dataset.class_names, int(sample.evidence.y[row]), int(scored.predicted[row])
    picture = review_example.picture(sample, "train", int(sample.rows[row]), 72, f"training example {row}")
    arrow = "" if said == given else f'<div class="faint">→ {escape(names[said])}</div>'
    return f'<div class="wf-example">{picture}<div class="name">{escape(names[given])}</div>{arrow}{below}</div>'


def _card(sample: NoisyData, scored: Scored, decision: Decision | None, row: int, ranking: np.ndarray) -> None:
    names, given = sample.dataset.class_names, int(sample.evidence.y[row])
    below = f'<div class="ranks">rank {int(ranking[row]):,}</div>{review_example.mark(decision)}'
    st.html(face(sample, scored, row, below))
    st.button(plain(f"Look at training example {row}, given {names[given]}, rank {int(ranking[row])}"),
              key=f"look:{row}", on_click=review_screen.look_at, args=(row,))
