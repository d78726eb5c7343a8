"""What a lesson reads of the browser: the presenter's keys, the size of the screen, and a name for some hours.

The name is random and identifies nobody: a prediction survives a reload by it, and a class counts each device once.
"""

from __future__ import annotations

import re
from uuid import uuid4

import streamlit as st

from app.widgets.frame import projector
from app.widgets.words import look

ON, BACK, LEAVE, THEME = "wf-class-on", "wf-class-back", "wf-class-leave", "wf-theme"
KEYS = {"ArrowRight": ON, "PageDown": ON, " ": ON, "ArrowLeft": BACK, "PageUp": BACK, "Escape": LEAVE, "t": THEME}
"""Key: the container whose button it presses. `f` fills the screen and gives it back."""
VISITOR, _VISITOR = "wf-visitor", "_visitor"
"""The cookie that the script sets, and its value in the session."""
_mounted = st.components.v2.component("whichfluence_lesson", js=look.text("lesson.js"), html="<span></span>",
                                      isolate_styles=False)


def listen() -> None:
    """Mount the script that turns keys into clicks and reports the size of the screen."""
    with st.container(key="wf-presenter"):
        _mounted(key=projector.BROWSER, on_scale_change=lambda: None, data={
            "keys": KEYS if projector.on() else {}, "projector": projector.on(), "visitor": visitor(),
            "scale": projector.scale()})


def visitor() -> str:
    """The name of this browser."""
    if _VISITOR not in st.session_state:
        sent = str(st.context.cookies.get(VISITOR, ""))
        st.session_state[_VISITOR] = sent if re.fullmatch("[0-9a-f]{32}", sent) else uuid4().hex
    return st.session_state[_VISITOR]
