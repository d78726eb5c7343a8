"""The flagged examples of the review desk as cards, a page at a time; a click puts one in focus."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np
import streamlit as st

from app.noisy_labels import review_example, state
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.applications.decisions import Decision
from engine.applications.noisy_labels import rankings
from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.source import NoisyData
from engine.runs.noisy_labels import Scored

CARDS = 12


def show(drawn: NoisyData, scored: Scored, decisions: Mapping[int, Decision], pair: Pair, rows: list[int],
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
                _card(drawn, scored, decisions.get(row), row, ranking)
    if pages > 1:
        _turn(page, pages, len(rows))


def face(drawn: NoisyData, scored: Scored, row: int, below: str) -> str:
    """A flagged example: its picture, the given label, what the model says where that is another one, and `below`."""
    names, given, said = drawn.dataset.class_names, int(drawn.evidence.y[row]), int(scored.predicted[row])
    picture = review_example.picture(drawn.dataset, "train", int(drawn.rows[row]), 72, f"training example {row}")
    arrow = "" if said == given else f'<div class="faint">→ {escape(names[said])}</div>'
    return f'<div class="wf-example">{picture}<div class="name">{escape(names[given])}</div>{arrow}{below}</div>'


def _card(drawn: NoisyData, scored: Scored, decision: Decision | None, row: int, ranking: np.ndarray) -> None:
    names, given = drawn.dataset.class_names, int(drawn.evidence.y[row])
    below = f'<div class="ranks">rank {int(ranking[row]):,}</div>{review_example.mark(decision)}'
    st.html(face(drawn, scored, row, below))
    st.button(plain(f"Look at training example {row}, given {names[given]}, rank {int(ranking[row])}"),
              key=f"look:{row}", on_click=state.look_at, args=(row,))


def _turn(page: int, pages: int, count: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("", icon=":material/chevron_left:", key="desk:earlier", help="Higher ranks", disabled=page == 0,
                  on_click=state.turn_to, args=(page - 1,))
        st.button("", icon=":material/chevron_right:", key="desk:later", help="Lower ranks", disabled=page >= pages - 1,
                  on_click=state.turn_to, args=(page + 1,))
        glossary.caption(
            f"{page * CARDS + 1}–{min(count, (page + 1) * CARDS)} of {count:,}; under each: given "
            "label, → what the model says, rank.")
