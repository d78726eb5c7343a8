"""Streamlit's inputs, of which the default is what is chosen.

What is chosen stands in the session under the input's key, and the browser hears of it once. An input whose code
reaches the browser only after the page has run again, on a slow line or a busy machine, has missed that: it shows its
default and sends it back as the reader's choice. So the default is told in every run; with a key it is not part of
what an input is, and an input that is drawn already keeps its own.

Each takes the arguments of Streamlit's function of that name, and the `area` to draw in; its key is in the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st


def selectbox(label: str, options: Sequence, *, key: str, area: Any = st, **rest: Any) -> Any:
    return area.selectbox(label, options, index=_place(options, key), key=key, **rest)


def radio(label: str, options: Sequence, *, key: str, area: Any = st, **rest: Any) -> Any:
    return area.radio(label, options, index=_place(options, key), key=key, **rest)


def segmented_control(label: str, options: Sequence, *, key: str, area: Any = st, **rest: Any) -> Any:
    return area.segmented_control(label, options, default=st.session_state[key], key=key, **rest)


def pills(label: str, options: Sequence, *, key: str, area: Any = st, **rest: Any) -> Any:
    return area.pills(label, options, default=st.session_state.get(key), key=key, **rest)


def select_slider(label: str, options: Sequence, *, key: str, area: Any = st, **rest: Any) -> Any:
    return area.select_slider(label, options, value=st.session_state[key], key=key, **rest)


def slider(label: str, low: Any, high: Any, *, key: str, area: Any = st, **rest: Any) -> Any:
    return area.slider(label, low, high, st.session_state[key], key=key, **rest)


def number_input(label: str, low: Any, high: Any, *, key: str, area: Any = st, **rest: Any) -> Any:
    return area.number_input(label, low, high, st.session_state[key], key=key, **rest)


def toggle(label: str, *, key: str, area: Any = st, **rest: Any) -> bool:
    return area.toggle(label, bool(st.session_state[key]), key=key, **rest)


def text_input(label: str, *, key: str, area: Any = st, **rest: Any) -> str:
    return area.text_input(label, st.session_state[key], key=key, **rest)


def text_area(label: str, *, key: str, area: Any = st, **rest: Any) -> str:
    return area.text_area(label, st.session_state[key], key=key, **rest)


def _place(options: Sequence, key: str) -> int:
    """Where what is chosen stands; the first place for what the reader has typed."""
    chosen = st.session_state[key]
    return list(options).index(chosen) if chosen in options else 0
