"""The screen of the review desk, drawn in the browser: the example in focus and those after it, which are there
already, so that it moves on at once, and a decision belongs to the row that was on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from app.noisy_labels import review_example, review_keys
from app.noisy_labels.review_keys import SCREEN, Taken
from app.widgets.jobs.desk import desk
from app.widgets.words import look
from engine.desk.analyses import Decision
from engine.desk.noisy_labels import NoisyData, Pair, Reasons, Review, Scored, rankings, rows_of

KEYS = ("w", "f", "u", "s", "z", "ArrowLeft", "ArrowRight", *"1234567890")
BACK, AHEAD, PAGE = 20, 160, 40
"""Examples before and after the one in focus that lie in the browser, and how many are sent as one."""
_pages = st.components.v2.component("whichfluence_review_rows", js=look.text("review-rows.js"), isolate_styles=False,
                                    html="<span></span>")
_screen = st.components.v2.component("whichfluence_review_desk", js=look.text("review-desk.js"), isolate_styles=False,
                                     html=look.text("review-desk.html"))


@dataclass(frozen=True)
class Screen:
    """What is reviewed: data, scores, the ranking that orders it, the flagged rows in their order, and who speaks
    against each, where that is known."""

    sample: NoisyData
    scored: Scored
    pair: Pair
    rows: tuple[int, ...]
    reasons: Reasons | None

    @property
    def view(self) -> str:
        """A name for what is shown of each row; reasons are added to it when they are known."""
        return f"{self.pair.title} {self.sample.fingerprint} {self.sample.source.model_dump_json()}"

    def page(self, rows: Sequence[int]) -> dict[str, dict]:
        """Some rows as the browser draws them; cached."""
        def draw() -> dict[str, dict]:
            ranks = rankings.all_ranks(self.scored.suspicion)
            frame = None if self.sample.dataset.image_shape is not None else desk().memory.cached(
                ("table rows", self.sample.fingerprint), lambda: rows_of(self.sample))
            return {str(row): review_example.drawn(self.sample, self.scored, ranks, self.pair, row, frame, self.reasons)
                    for row in rows}

        return desk().memory.cached(("review rows", self.view, self.reasons is None, tuple(rows)), draw)


def show(screen: Screen, review: Review, taken: Taken, decisions: Mapping[int, Decision], focus: int | None) -> None:
    """The screen, with the rows around the one in focus."""
    told = review_keys.told(focus)
    _screen(key=SCREEN, on_queue_change=_nothing, data={
        "desk": screen.sample.fingerprint, "view": screen.view, "reviewer": review.session, "batch": taken.batch,
        "answers": taken.answers or {}, "turn": review_keys.turn(), "focus": focus, "told": told, "keys": list(KEYS),
        "rows": list(screen.rows), "classes": list(screen.sample.dataset.class_names), "marks": review_example.MARKS,
        "decisions": {str(row): review_keys.decided(decisions[row]) for row in screen.rows if row in decisions},
        "history": review_keys.acts(review)})
    at = screen.rows.index(told) if told in screen.rows else 0
    with st.container(key="wf-review-rows", gap=None):
        for page in range(max(0, at - BACK) // PAGE, min(len(screen.rows) - 1, at + AHEAD) // PAGE + 1):
            _pages(key=f"review-rows:{page}", data={"view": screen.view, "pages": screen.page(
                screen.rows[page * PAGE:(page + 1) * PAGE])})


def _nothing() -> None:
    """The queue is read where the desk is drawn; Streamlit knows a state by its callback alone."""
