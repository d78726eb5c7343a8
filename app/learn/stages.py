"""The three stages of a lesson before a class, always in this order: predict, reveal, take away."""

from __future__ import annotations

import streamlit as st

from app.learn import state
from app.widgets.choices import choice

PREDICT, REVEAL, TAKE = "predict", "reveal", "takeaway"
STAGES = {PREDICT: "Predict", REVEAL: "Reveal", TAKE: "Take away"}
NAME = "stage"


def current() -> str:
    """The stage that the address tells."""
    return choice.one(NAME, PREDICT, choice.from_options(list(STAGES)))


def go(step: str, stage: str) -> None:
    """Show a stage of a step."""
    state.go(step)
    choice.keep(NAME, stage)


def neighbours(step: str, stage: str, steps: list[str]) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """(step, stage) before and after this one; None at either end."""
    order = [(one, each) for one in steps for each in STAGES]
    index = order.index((step, stage))
    return order[index - 1] if index else None, order[index + 1] if index + 1 < len(order) else None


def predicted(slug: str) -> int | None:
    """What the class chose, kept while the picture is shown."""
    return st.session_state.setdefault("_predicted", {}).get(slug)


def predict(slug: str) -> None:
    """Take over what the class chose now."""
    st.session_state.setdefault("_predicted", {})[slug] = st.session_state[f"learn:predict:{slug}"]
