"""Choices as widgets: each in the address, and dropped with a message where it makes no sense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.words import glossary


def text(name: str, label: str, default: str, height: int | None = None, area: Any = st, **rest: Any) -> str:
    """A text of the reader's own, in the address."""
    key = choice.bound(name, default, lambda given: given[:4000])
    widget = inputs.text_area if height else inputs.text_input
    value = widget(label, key=key, area=area, **({"height": height} if height else {}), **rest) or ""
    choice.keep(name, value)
    return value


def _option(draw: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    """An input for one of some options, in the address; one that is none of them any more gives way to the default."""

    def choose(name: str, label: str, options: Sequence, default: Any, title: Callable[[Any], str], kind: type = str,
               area: Any = st, **rest: Any) -> Any:
        default = default if default in options else options[0]
        key = choice.bound(name, default, choice.from_options(options))
        if st.session_state[key] not in options:
            st.session_state[key] = default
        chosen = draw(label, options, key=key, area=area, format_func=title, **fixed, **rest)
        choice.keep(name, kind(chosen))
        return chosen

    return choose


pick, radio, slide = map(_option, (inputs.selectbox, inputs.radio, inputs.select_slider))
segments = _option(inputs.segmented_control, required=True)


def _number(draw: Callable[..., Any]) -> Callable[..., Any]:
    """An input for a number in [low, high], whole where its default is, in the address as `write` has it."""

    def choose(name: str, label: str, default: Any, low: Any, high: Any, write: Callable[[Any], Any] = str,
               area: Any = st, **rest: Any) -> Any:
        key = choice.bound(name, default, choice.within(low, high, type(default)))
        value = draw(label, low, high, key=key, area=area, **rest)
        choice.keep(name, write(value))
        return value

    return choose


number, slider = map(_number, (inputs.number_input, inputs.slider))


def toggle(name: str, label: str, area: Any = st, **rest: Any) -> bool:
    """A switch, off at first, in the address as 1 or 0."""
    on = inputs.toggle(label, key=choice.bound(name, False, choice.on_off), area=area, **rest)
    choice.keep(name, int(on))
    return on


def pager(key: str, page: int, size: int, count: int, turn: Callable[[int], None], note: str = "") -> None:
    """The way from a page of a list, counted from 0, to the ones beside it; `turn` shows another."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("", icon=":material/chevron_left:", key=f"{key}:earlier", help="Previous", disabled=page == 0,
                  on_click=turn, args=(page - 1,))
        st.button("", icon=":material/chevron_right:", key=f"{key}:later", help="Next",
                  disabled=(page + 1) * size >= count, on_click=turn, args=(page + 1,))
        glossary.caption(f"{page * size + 1}–{min(count, (page + 1) * size)} of {count:,}{note}")
