"""The keys of the review desk: verdicts, right labels, a step back, and on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from app.noisy_labels import review_acts, state
from app.widgets.jobs import key_queue
from engine.desk.noisy_labels import FINE, UNSURE, WRONG, NoisyData, Review, Scored

VERDICT_KEYS = {"w": WRONG, "f": FINE, "u": UNSURE}
UNDO, BACK, ON = "z", "ArrowLeft", "ArrowRight"
NUMBERS = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "0")
"""The keys of the first ten classes: the class is the right label, and the given one is fine where it is that."""
KEYS = (*VERDICT_KEYS, UNDO, BACK, ON, *NUMBERS)
NOT_KNOWN = -1


@dataclass(frozen=True)
class Desk:
    """What the keys act on: the flagged rows in their order, and where decisions go."""

    drawn: NoisyData
    scored: Scored
    review: Review
    rows: tuple[int, ...]

    @property
    def name(self) -> str:
        """Which desk this is: that of a session and of its data."""
        return f"{self.review.session} {self.drawn.fingerprint}"


def taken(desk: Desk) -> None:
    """Do what was pressed since the last run of the page. Call it before decisions are read."""
    key_queue.taken(desk.name, KEYS, partial(act, desk))


def act(desk: Desk, key: str) -> None:
    """Do what one key says about the example in focus."""
    decisions = desk.review.decisions()
    focus = state.focus(desk.rows, [row for row in desk.rows if row not in decisions])
    if key == UNDO:
        review_acts.undo(desk.review)
    elif focus is not None and key in VERDICT_KEYS:
        before, verdict = decisions.get(focus), VERDICT_KEYS[key]
        guessed = review_acts.right_label(desk.drawn, desk.scored, before, focus)
        chosen = st.session_state.get(f"right:{focus}", NOT_KNOWN if guessed is None else guessed)
        note = st.session_state.get(f"note:{focus}", before.note if before else "")
        review_acts.take(desk.review, focus, verdict, None if verdict != WRONG or chosen == NOT_KNOWN else chosen, note,
                         desk.rows)
    elif focus is not None and key in NUMBERS:
        label = NUMBERS.index(key)
        if label < desk.drawn.evidence.classes:
            fine = label == desk.drawn.evidence.y[focus]
            note = st.session_state.get(f"note:{focus}", decisions[focus].note if focus in decisions else "")
            review_acts.take(desk.review, focus, FINE if fine else WRONG, None if fine else label, note, desk.rows)
    elif focus is not None and key in (BACK, ON):
        step = 1 if key == ON else -1
        state.look_at(desk.rows[min(max(desk.rows.index(focus) + step, 0), len(desk.rows) - 1)])
