"""Whether the dashboard stands on a projector before a class: in the address, and in the look."""

from __future__ import annotations

import streamlit as st

from app.widgets.words import look

NAME = "classroom"
KEY = "wf-classroom"
"""The container whose presence on the page makes it large."""

STYLE = look.style("projector")


def on() -> bool:
    """Whether the address asks for it."""
    return st.query_params.get(NAME) == "1"


def off() -> None:
    """Take it out of the address of a page that has no such mode, and draw the page anew."""
    if on():
        st.query_params.pop(NAME)
        st.rerun()
