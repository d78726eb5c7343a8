"""The keys of the review desk: verdicts, right labels, a step back, and on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from app.noisy_labels import state
from app.widgets.jobs import key_queue, review
from engine.desk.analyses import FINE, WRONG, Decision
from engine.desk.noisy_labels import NoisyData, Review, Scored, rankings

NUMBERS = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "0")
"""The keys of the first ten classes: the class is the right label, and the given one is fine where it is that."""
KEYS = (*review.VERDICTS, review.UNDO, review.BACK, review.ON, *NUMBERS)
NOT_KNOWN = -1


@dataclass(frozen=True)
class ReviewDesk:
    """What the keys act on: the flagged rows in their order, and where decisions go."""

    sample: NoisyData
    scored: Scored
    review: Review
    rows: tuple[int, ...]

    @property
    def name(self) -> str:
        """Which desk this is: that of a session and of its data."""
        return f"{self.review.session} {self.sample.fingerprint}"


def taken(desk: ReviewDesk) -> None:
    """Do what was pressed since the last run of the page. Call it before decisions are read."""
    key_queue.taken(desk.name, KEYS, partial(act, desk))


def act(desk: ReviewDesk, key: str) -> None:
    """Do what one key says about the example in focus."""
    decisions = desk.review.decisions()
    focus = state.focus(desk.rows, [row for row in desk.rows if row not in decisions])
    if key == review.UNDO:
        review.undo(desk.review, state.look_at)
    elif focus is not None and key in review.VERDICTS:
        before, verdict = decisions.get(focus), review.VERDICTS[key]
        guessed = right_label(desk.sample, desk.scored, before, focus)
        chosen = st.session_state.get(f"right:{focus}", NOT_KNOWN if guessed is None else guessed)
        note = st.session_state.get(f"note:{focus}", before.note if before else "")
        review.decide(desk.review, state.look_at, desk.rows, focus, verdict,
                      None if verdict != WRONG or chosen == NOT_KNOWN else chosen, note)
    elif focus is not None and key in NUMBERS:
        label = NUMBERS.index(key)
        if label < desk.sample.evidence.classes:
            fine = label == desk.sample.evidence.y[focus]
            note = st.session_state.get(f"note:{focus}", decisions[focus].note if focus in decisions else "")
            review.decide(desk.review, state.look_at, desk.rows, focus, FINE if fine else WRONG,
                          None if fine else label, note)
    elif focus is not None and key in (review.BACK, review.ON):
        state.look_at(review.neighbour(desk.rows, focus, key))


def right_label(sample: NoisyData, scored: Scored, before: Decision | None, row: int) -> int | None:
    """The label to use if the given one is wrong: what was decided before, else a guess; None where none is known."""
    if before is not None and before.verdict == WRONG:
        return before.label
    nearest = [int(sample.evidence.trusted_y[at]) for at in scored.nearest[row]]
    return rankings.guess(int(sample.evidence.y[row]), int(scored.predicted[row]), nearest)
