"""What is the same at every review desk: who decides, a verdict and what comes next, a step back, and the keys."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import streamlit as st

from engine.desk.analyses import FINE, UNSURE, WRONG, Decisions

VERDICTS = {"w": WRONG, "f": FINE, "u": UNSURE}
UNDO, BACK, ON = "z", "ArrowLeft", "ArrowRight"


def token() -> str:
    """Who decides in this session of the browser: each takes back its own decisions alone."""
    return st.session_state.setdefault("desk_reviewer", secrets.token_hex(8))


def decide(review: Decisions, look_at: Callable[[int | None], None], rows: Sequence[int], row: int, verdict: str,
           label: int | None = None, note: str = "") -> None:
    """Record a verdict, and look at the next of `rows` that is not decided; None where all are."""
    review.decide(row, verdict, label, note)
    decided, index = review.decisions(), rows.index(row)
    look_at(next((other for other in [*rows[index + 1:], *rows[:index]] if other not in decided), None))


def undo(review: Decisions, look_at: Callable[[int | None], None]) -> None:
    """Take back the last decision of this session, and look at its row again."""
    decision = review.undo()
    if decision is not None:
        look_at(decision.row)


def neighbour(rows: Sequence[int], row: int, key: str) -> int:
    """The row before or after, by the key for it; at either end the same."""
    return rows[min(max(rows.index(row) + (1 if key == ON else -1), 0), len(rows) - 1)]
