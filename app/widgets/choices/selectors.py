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


def slide(name: str, label: str, options: Sequence, default: Any, title: Callable[[Any], str], area=st, **rest) -> Any:
    """One of a scale of options, in the address."""
    return _chosen(name, options, default, lambda key: inputs.select_slider(
        label, options, key=key, area=area, format_func=title, **rest))


def toggle(name: str, label: str, area=st, **rest) -> bool:
    """A switch, off at first, in the address as 1 or 0."""
    on = inputs.toggle(label, key=choice.bound(name, False, choice.on_off), area=area, **rest)
    choice.keep(name, int(on))
    return on


def number(name: str, label: str, default: Any, low: Any, high: Any, write: Callable[[Any], Any] = str, area=st,
           **rest) -> Any:
    """A number in [low, high], whole where its default is, in the address as `write` has it."""
    key = choice.bound(name, default, choice.within(low, high, type(default)))
    value = inputs.number_input(label, low, high, key=key, area=area, **rest)
    choice.keep(name, write(value))
    return value


def slider(name: str, label: str, default: Any, low: Any, high: Any, write: Callable[[Any], Any] = str, area=st,
           **rest) -> Any:
    """The same as a slider."""
    key = choice.bound(name, default, choice.within(low, high, type(default)))
    value = inputs.slider(label, low, high, key=key, area=area, **rest)
    choice.keep(name, write(value))
    return value


def _chosen(name: str, options: Sequence, default: Any, draw: Callable[[str], Any], kind: type = str) -> Any:
    """What the widget says; a choice that is none of the options any more gives way to the default."""
    default = default if default in options else options[0]
    key = choice.bound(name, default, choice.from_options(options))
    if st.session_state[key] not in options:
        st.session_state[key] = default
    chosen = draw(key)
    choice.keep(name, kind(chosen))
    return chosen
