"""Streamlit's inputs, of which the default is what is chosen.

What is chosen stands in the session under the input's key, and the browser hears of it once. An input whose code
reaches the browser only after the page has run again, on a slow line or a busy machine, has missed that: it shows its
default and sends it back as the reader's choice. So the default is sent in every run; with a key it is not part of
what an input is, and an input that is drawn already keeps its own.

Each takes the arguments of Streamlit's function of that name, and the `area` to draw in; its key is in the session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st


def _index(given: tuple[Any, ...], key: str) -> int | None:
    """Where what is chosen stands among the options; the first place for what the reader has typed, None for nothing
    that is chosen yet."""
    chosen = st.session_state[key]
    return None if chosen is None else list(given[0]).index(chosen) if chosen in given[0] else 0


def _value(given: tuple[Any, ...], key: str) -> Any:
    return st.session_state.get(key)


def _input(name: str, parameter: str, value: Callable[[tuple[Any, ...], str], Any] = _value) -> Callable[..., Any]:
    """Streamlit's input of a name, with what is chosen as its `parameter`."""

    def draw(label: str, *given: Any, key: str, area: Any = st, **rest: Any) -> Any:
        return getattr(area, name)(label, *given, key=key, **{parameter: value(given, key)}, **rest)

    return draw


selectbox, radio = (_input(name, "index", _index) for name in ("selectbox", "radio"))
segmented_control, pills = (_input(name, "default") for name in ("segmented_control", "pills"))
select_slider, slider, number_input, toggle, text_input, text_area = (
    _input(name, "value") for name in ("select_slider", "slider", "number_input", "toggle", "text_input", "text_area"))
