"""The Learn page: a step of the tour, and the way to the next; or the same before a class."""

from __future__ import annotations

import streamlit as st

from app.learn import LESSONS, PLANE, browser, classroom, stages, state, teach
from app.learn.lesson import Lesson
from app.widgets.frame import top

STEPS: dict[str, Lesson] = {**{str(index + 1): lesson for index, lesson in enumerate(LESSONS)}, state.PLAY: PLANE}


def title(step: str) -> str:
    """The title of a step; lessons have a number."""
    return STEPS[step].title if step == state.PLAY else f"{step}. {STEPS[step].title}"


def choose() -> str:
    """Which step is shown."""
    return state.step(list(STEPS))


def show(step: str) -> None:
    """A lesson, or the plane to play with."""
    top.begin(f"learn {step} {stages.opened(STEPS[step].slug)}")
    teach(STEPS[step], title(step))
    browser.listen()


def project() -> None:
    """The step before a class."""
    step = state.current(list(STEPS))
    classroom.teach(STEPS, step, {one: title(one) for one in STEPS})


def onward(step: str) -> None:
    """Buttons to the steps before and after."""
    steps = list(STEPS)
    index = steps.index(step)
    with st.container(horizontal=True):
        if index > 0:
            st.button("Back", icon=":material/arrow_back:", on_click=state.go, args=(steps[index - 1],))
        if index + 1 < len(steps):
            following = STEPS[steps[index + 1]]
            last = following is PLANE
            st.button("Play with one point" if last else "Next step",
                      type="primary" if stages.opened(STEPS[step].slug) else "secondary",
                      help=None if last else following.title, icon=":material/arrow_forward:",
                      on_click=state.go, args=(steps[index + 1],))
