"""What a lesson needs of the browser: the keys of a presenter, the size of the screen, and a name for some hours.

The name is random and says nothing of who it is: it lets a prediction outlive a reload, and a class count each device
once.
"""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import streamlit as st

from app.widgets.frame import projector
from app.widgets.words import look

ON, BACK, LEAVE, THEME = "wf-class-on", "wf-class-back", "wf-class-leave", "wf-theme"
KEYS = {"ArrowRight": ON, "PageDown": ON, " ": ON, "ArrowLeft": BACK, "PageUp": BACK, "Escape": LEAVE, "t": THEME}
"""Key: the container whose button it presses. `f` fills the screen and gives it back."""
VISITOR, SCALE = "wf-visitor", "wf-scale"
"""The cookies that the script sets."""
SMALLEST, LARGEST = 0.65, 4.0
_COMPONENT, _VISITOR = "lesson-browser", "_visitor"
_mounted = st.components.v2.component("whichfluence_lesson", js=look.text("lesson.js"), html="<span></span>",
                                      isolate_styles=False)


def listen() -> None:
    """Let the keys act before a class, and hear of the screen's size."""
    with st.container(key="wf-presenter"):
        _mounted(key=_COMPONENT, on_scale_change=lambda: None, data={
            "keys": KEYS if projector.on() else {}, "projector": projector.on(), "visitor": visitor(),
            "scale": scale()})


def visitor() -> str:
    """The name of this browser."""
    if _VISITOR not in st.session_state:
        sent = str(st.context.cookies.get(VISITOR, ""))
        st.session_state[_VISITOR] = sent if re.fullmatch("[0-9a-f]{32}", sent) else uuid4().hex
    return st.session_state[_VISITOR]


def scale() -> float:
    """How much larger the screen is than 1280 × 720, in quarters; less than 1 on a phone."""
    state: Any = st.session_state.get(_COMPONENT) or {}
    try:
        size = float(state.get("scale") or st.context.cookies.get(SCALE, 1))
    except (TypeError, ValueError):
        return 1.0
    return min(max(size, SMALLEST), LARGEST) if size == size else 1.0
