"""The screen of a review desk, drawn in the browser: the row in focus and those after it, which are there already, so
that it moves on at once, and a decision belongs to the row that was on the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app.widgets.jobs import review as desk_review
from app.widgets.jobs.review import SCREEN, Taken
from app.widgets.words import look
from engine.desk.analyses import Decision, Decisions

KEYS = ("w", "f", "u", "s", "z", "ArrowLeft", "ArrowRight", *"1234567890")
BACK, AHEAD, PAGE = 20, 160, 40
"""Rows before and after the one in focus that lie in the browser, and how many are sent as one."""
STYLE = look.style("review-desk")
_pages = st.components.v2.component("whichfluence_review_rows", js=look.text("review-rows.js"), isolate_styles=False,
                                    html="<span></span>")
_screen = st.components.v2.component("whichfluence_review_desk", js=look.text("review-desk.js"), isolate_styles=False,
                                     html=look.text("review-desk.html"))


@dataclass(frozen=True)
class Screen:
    """What is reviewed. desk: the fingerprint of the data. view: a name for what is shown of each row. rows: in their
    order. classes: names of the labels that a row can have. marks: verdict -> what is said of a decided row. words: of
    the buttons `wrong`, `fine`, `unsure`, and of `one` row, `done` and `listed`. page: rows -> row -> `called`,
    `looks` and `reasons` as HTML, `given` label and `suggested` one with `why`, and `text` where another can be written
    in its place."""

    desk: str
    view: str
    rows: tuple[int, ...]
    classes: tuple[str, ...]
    marks: Mapping[str, str]
    words: Mapping[str, str]
    page: Callable[[Sequence[int]], dict[str, dict[str, Any]]]


def show(screen: Screen, review: Decisions, taken: Taken, decisions: Mapping[int, Decision], focus: int | None) -> None:
    """The screen, with the rows around the one in focus."""
    shown = desk_review.shown(focus)
    _screen(key=SCREEN, on_queue_change=_nothing, data={
        "desk": screen.desk, "view": screen.view, "reviewer": review.session, "batch": taken.batch,
        "answers": taken.answers or {}, "turn": desk_review.turn(), "focus": focus, "shown": shown, "keys": list(KEYS),
        "rows": list(screen.rows), "classes": list(screen.classes), "marks": dict(screen.marks),
        "words": dict(screen.words),
        "decisions": {str(row): desk_review.decided(decisions[row]) for row in screen.rows if row in decisions},
        "history": desk_review.acts(review)})
    at = screen.rows.index(shown) if shown in screen.rows else 0
    with st.container(key="wf-review-rows", gap=None):
        for page in range(max(0, at - BACK) // PAGE, min(len(screen.rows) - 1, at + AHEAD) // PAGE + 1):
            _pages(key=f"review-rows:{page}", data={"view": screen.view, "pages": screen.page(
                screen.rows[page * PAGE:(page + 1) * PAGE])})


def _nothing() -> None:
    """The queue is read where the desk is drawn; Streamlit knows a state by its callback alone."""
