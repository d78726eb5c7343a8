"""An input for what is declared of a setting, and how its text in the address is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.words import glossary
from engine.basics.settings import Declared
from engine.basics.values import short

MOST = 10**9


def parser(setting: Declared) -> Callable[[str], Any]:
    """How its text is read; raises `ValueError` for what it may not be."""
    if setting.kind is bool:
        return choice.on_off
    if setting.kind is str:
        return choice.from_options(setting.options) if setting.options else str
    return choice.within(*_limits(setting), setting.kind)


def text(value: Any) -> str | int:
    """How the address says a value."""
    return int(value) if isinstance(value, bool) else short(value) if isinstance(value, float) else value


def bound(name: str, setting: Declared, begin: Any, disabled: bool = False, area: Any = st, why: str = "") -> Any:
    """`draw` of a choice of that name, which stands in the address once it is made."""
    value = draw(setting, setting.label.capitalize(), choice.bound(name, begin, parser(setting)), begin, disabled, area,
                 why)
    if choice.is_set(name) or value != begin:
        choice.keep(name, text(value))
    return value


def draw(setting: Declared, label: str, key: str, begin: Any, disabled: bool = False, area: Any = st,
         why: str = "", titles: Mapping[str, str] | None = None) -> Any:
    """Its value, which stands in the session under the key. begin: what it begins with, said where that is another than
    the declared default. why: what its help goes on with. titles: of its texts, where these are not shown as they are.
    """
    other = f" Begins with {text(begin)} here." if setting.default not in (None, begin) else ""
    help = glossary.hint(label, setting.description + other + why)
    rest = {"key": key, "help": help, "disabled": disabled, "area": area}
    if setting.kind is bool:
        return inputs.toggle(label, **rest)
    if setting.kind is str:
        if not setting.options:
            return inputs.text_input(label, **rest)
        titles = titles or {}
        return inputs.selectbox(label, setting.options, **rest, format_func=lambda one: titles.get(one, one))
    low, high = _limits(setting)
    whole = setting.kind is int
    # a browser calls a value between two steps, counted from the lowest one, invalid
    return inputs.number_input(label, low, high, format="%d" if whole else "%g", **rest,
                               step=1 if whole else (begin - low) / 2 or 0.01)


def _limits(setting: Declared) -> tuple[Any, Any]:
    low, high = (0 if setting.low is None else setting.low), (MOST if setting.high is None else setting.high)
    return setting.kind(low), setting.kind(high)
