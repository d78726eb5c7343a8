"""Learn: eight short lessons on digits, each live, and a plane to play with."""

import streamlit as st

from app.learn import LESSONS, plane, teach
from app.widgets import choice, glossary

STEPS = [*map(str, range(1, len(LESSONS) + 1)), "play"]
TITLES = {**{str(place + 1): str(place + 1) for place in range(len(LESSONS))}, "play": "Play"}


def main() -> None:
    st.title("Learn")
    glossary.caption(
        "Eight steps of a minute each, on handwritten digits. Every picture is computed while you watch, and "
        "every choice is in the address. Words with dots below explain themselves.")
    key = choice.bound("step", "1", choice.from_options(STEPS))
    step = st.segmented_control("Step", STEPS, key=key, format_func=TITLES.get, required=True)
    choice.keep("step", step)
    if step == "play":
        st.subheader("Play: one point in the plane")
        plane.show()
    else:
        teach(LESSONS[int(step) - 1], int(step))
    _onward(STEPS.index(step))
    glossary.whole()


def _onward(place: int) -> None:
    with st.container(horizontal=True):
        if place > 0:
            st.button("Back", icon=":material/arrow_back:", on_click=_go, args=(place - 1,))
        if place + 1 < len(STEPS):
            last = place + 1 == len(LESSONS)
            st.button("Play with one point" if last else "Next step", type="primary",
                      help=None if last else LESSONS[place + 1].title, icon=":material/arrow_forward:",
                      on_click=_go, args=(place + 1,))


def _go(place: int) -> None:
    choice.keep("step", STEPS[place])
    st.session_state[choice.widget("step")] = STEPS[place]


main()
