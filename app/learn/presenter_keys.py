"""Keys of a presenter and of what they hold in the hand: they press the buttons that stand on the page."""

from __future__ import annotations

import streamlit as st

from app.widgets.words import look

ON, BACK, LEAVE, THEME = "wf-class-on", "wf-class-back", "wf-class-leave", "wf-theme"
KEYS = {"ArrowRight": ON, "PageDown": ON, " ": ON, "ArrowLeft": BACK, "PageUp": BACK, "Escape": LEAVE, "t": THEME}
"""Key: the container whose button it presses. `f` fills the screen and gives it back."""
_SCRIPT = look.text("presenter-keys.js")
_listen = st.components.v2.component("whichfluence_presenter_keys", js=_SCRIPT, html="<span></span>",
                                     isolate_styles=False)


def listen() -> None:
    """Let the keys act."""
    with st.container(key="wf-presenter"):
        _listen(key="presenter-keys", data=KEYS)
