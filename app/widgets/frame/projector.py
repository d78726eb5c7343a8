"""Whether the dashboard stands on a projector before a class: in the address, and in the look."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.widgets.words import look

NAME = "classroom"
KEY = "wf-classroom"
"""The container whose presence on the page makes it large."""
BROWSER, COOKIE = "lesson-browser", "wf-scale"
"""The component that tells the size of the screen, and where the browser keeps it."""
SMALLEST, LARGEST = 0.65, 4.0
STYLE = look.style("projector")


def on() -> bool:
    """Whether the address asks for it."""
    return st.query_params.get(NAME) == "1"


def off() -> None:
    """Take it out of the address."""
    st.query_params.pop(NAME, None)


def scale() -> float:
    """How much larger the screen is than 1280 × 720, in quarters; less than 1 on a phone."""
    state: Any = st.session_state.get(BROWSER) or {}
    try:
        size = float(state.get("scale") or st.context.cookies.get(COOKIE, 1))
    except (TypeError, ValueError):
        return 1.0
    return min(max(size, SMALLEST), LARGEST) if size == size else 1.0


def bar() -> None:
    """On a page that a lesson led to: large letters, and the way back."""
    st.html(STYLE)
    with st.container(horizontal=True, key="wf-projected"):
        st.page_link("../pages/learn.py", label="Back to the lesson", icon=":material/arrow_back:",
                     query_params={NAME: "1"})
        st.button("Usual size", icon=":material/close_fullscreen:", on_click=off)
