"""Light or dark by one button, on every page and for the next visit.

Streamlit follows the system and reads a reader's own choice once, when a page opens, from a place of the browser's
storage that it keeps for each address. `SCRIPT` stands in the page before Streamlit's code and puts the choice there;
the button changes it and opens the page anew, of which everything that was chosen stands in the address.
"""

from __future__ import annotations

import streamlit as st

from app.widgets.words import look

SCRIPT = look.script("theme")

_BUTTON = look.text("theme-switch.js")
_STYLE = look.text("theme-switch.css")
_component = st.components.v2.component(
    "whichfluence_theme", html='<button type="button" class="wf-theme"></button>', css=_STYLE, js=_BUTTON,
    isolate_styles=False)


def show() -> None:
    """The button."""
    with st.container(key="wf-theme", width="content"):
        _component(key="theme-switch", width="content", height="content")
