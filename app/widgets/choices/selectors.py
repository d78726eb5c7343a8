"""Choices as widgets: each in the address, and dropped with a message where it makes no sense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.widgets.choices import choice, inputs


def text(name: str, label: str, default: str, height: int | None = None, area=st, **rest) -> str:
    """A text of the reader's own, in the address."""
    key = choice.bound(name, default, lambda given: given[:4000])
    widget = inputs.text_area if height else inputs.text_input
    value = widget(label, key=key, area=area, **({"height": height} if height else {}), **rest) or ""
    choice.keep(name, value)
    return value


def pick(name: str, label: str, options: Sequence, default: Any, title: Callable[[Any], str], kind: type = str,
         area=st, **rest) -> Any:
    """One of a list of options, in the address."""
    return _chosen(name, options, default, lambda key: inputs.selectbox(
        label, options, key=key, area=area, format_func=title, **rest), kind)


def segments(name: str, label: str, options: Sequence, default: Any, title: Callable[[Any], str], area=st,
             **rest) -> Any:
    """One of a few options side by side, in the address."""
    return _chosen(name, options, default, lambda key: inputs.segmented_control(
        label, options, key=key, area=area, format_func=title, required=True, **rest))


def radio(name: str, label: str, options: Sequence, default: Any, title: Callable[[Any], str], area=st, **rest) -> Any:
    """One of a few options below one another, in the address."""
    return _chosen(name, options, default, lambda key: inputs.radio(
        label, options, key=key, area=area, format_func=title, **rest))


def _chosen(name: str, options: Sequence, default: Any, draw: Callable[[str], Any], kind: type = str) -> Any:
    """What the widget says; a choice that is none of the options any more gives way to the default."""
    default = default if default in options else options[0]
    key = choice.bound(name, default, choice.from_options(options))
    if st.session_state[key] not in options:
        st.session_state[key] = default
    chosen = draw(key)
    choice.keep(name, kind(chosen))
    return chosen
