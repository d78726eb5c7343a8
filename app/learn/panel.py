"""The Learn page: a step of the tour, and the way to the next."""

from __future__ import annotations

import streamlit as st

from app.learn import LESSONS, plane, state, teach
from app.widgets import top


def show(step: str) -> None:
    """A lesson, or the plane to play with."""
    top.begin(f"learn {step}")
    if step == state.PLAY:
        st.subheader("Play: one point in the plane")
        plane.show()
    else:
        teach(LESSONS[int(step) - 1], int(step))


def onward(step: str) -> None:
    """Buttons to the steps before and after."""
    steps = state.steps_of(len(LESSONS))
    place = steps.index(step)
    with st.container(horizontal=True):
        if place > 0:
            st.button("Back", icon=":material/arrow_back:", on_click=state.go, args=(steps[place - 1],))
        if place + 1 < len(steps):
            last = place + 1 == len(LESSONS)
            st.button("Play with one point" if last else "Next step", type="primary",
                      help=None if last else LESSONS[place + 1].title, icon=":material/arrow_forward:",
                      on_click=state.go, args=(steps[place + 1],))
