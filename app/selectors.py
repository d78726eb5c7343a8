"""Choices as widgets: each in the address, and dropped with a message where it makes no sense."""

from __future__ import annotations

import streamlit as st

from app import choice


def text(name: str, label: str, default: str, height: int | None = None) -> str:
    """A text of the reader's own, in the address."""
    key = choice.bound(name, default, lambda given: given[:4000])
    value = (st.text_area(label, key=key, height=height) if height else st.text_input(label, key=key)) or ""
    choice.keep(name, value)
    return value


def pick(name: str, label: str, options: list, default, title, disabled: bool = False, kind: type = str):
    """One of a list of options, in the address."""
    key = choice.bound(name, default if default in options else options[0], choice.from_options(options))
    if st.session_state[key] not in options:
        st.session_state[key] = default if default in options else options[0]
    chosen = st.selectbox(label, options, key=key, format_func=title, disabled=disabled)
    choice.keep(name, kind(chosen))
    return chosen


def segments(name: str, label: str, options: list[str], default: str, title) -> str:
    """One of a few options side by side, in the address."""
    default = default if default in options else options[0]
    key = choice.bound(name, default, choice.from_options(options))
    if st.session_state[key] not in options:
        st.session_state[key] = default
    chosen = st.segmented_control(label, options, key=key, format_func=title, required=True)
    choice.keep(name, chosen)
    return chosen
