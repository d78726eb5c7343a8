"""What the reader chose, kept in the address and over page changes.

A choice has one name everywhere, but on a page with choices of its own (`arrive`), where names mean something else.
The address wins when it says something new (a link was opened); otherwise the last choice of the session holds, and
it is written back into the address. Text in an address is checked by whoever reads it: what does not parse is dropped
with a message, never trusted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import streamlit as st

from app.widgets.choices import history
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError

T = TypeVar("T")
_STORE, _SAID = "_choices", "_ignored"
_SAID_SECONDS = 30.0
_REPLACED, _ECHO_SECONDS = "_replaced", 3.0
_SCOPE, _WIDGET = "_scope", "choice:"
_LINKED, _SHOWN, _ADDRESSED = "_linked", "_shown", "_addressed"
WHOLE, _OF_PAGE = "whole", "_of_page"
"""Names of choices that a link made and that no page has taken over yet: of these alone a reader is told that the
address was at fault. What a page itself kept, and what fits no longer, gives way without a word."""


def _stored() -> dict[str, list[str]]:
    return st.session_state.setdefault(_STORE + st.session_state.get(_SCOPE, ""), {})


def _linked() -> set[str]:
    return st.session_state.setdefault(_LINKED, set())


def _replaced() -> dict[str, list[tuple[list[str], float]]]:
    return st.session_state.setdefault(_REPLACED, {})


def arrive(page: str = "", own: bool = False) -> None:
    """Take the address at its word where the reader went back or forward to it, or where it says that it is the whole
    of a kept view; call it before any page is drawn.

    What the address had said and says no more is undone, and in a kept view whatever else the page has ever said;
    what it never said, choices of other pages, holds on. What the address comes to say is noted as it is said: a page
    that stops to wait has no end. own: whether the page's choices are of no other page, whatever their names.
    """
    scope = f":{page}" if own else ""
    if st.session_state.get(_SCOPE, "") != scope:  # widgets of the same name hold what was chosen on the other side
        for key in [key for key in st.session_state if str(key).startswith(_WIDGET)]:
            del st.session_state[key]
        _replaced().clear()
    st.session_state[_SCOPE] = scope
    if history.GONE in st.query_params:
        st.query_params.pop(history.GONE)
        _undo(st.session_state.get(_SHOWN, ()))
    if WHOLE in st.query_params:
        st.query_params.pop(WHOLE)
        _undo(st.session_state.get(_OF_PAGE, {}).get(page, ()))
    st.session_state[_SHOWN] = set(st.query_params)
    st.session_state[_ADDRESSED] = page
    _note(*st.query_params)


def _undo(names: Iterable[str]) -> None:
    """Forget those of the choices that the address does not hold."""
    _replaced().clear()
    for name in names:
        if name not in st.query_params:
            _stored().pop(name, None)
            st.session_state.pop(widget(name), None)


def _note(*names: str) -> None:
    """Note which choices the address holds now, and has ever held on this page."""
    st.session_state.setdefault(_SHOWN, set()).update(names)
    of_page = st.session_state.setdefault(_OF_PAGE, {})
    of_page.setdefault(st.session_state.get(_ADDRESSED, ""), set()).update(names)


def _echo(name: str, address: list[str]) -> bool:
    """Whether the address still says what was replaced a moment ago: two quick changes, of which the browser
    sends the second before it has heard what became of the first."""
    now = time.monotonic()
    recent = [(values, when) for values, when in _replaced().get(name, []) if now - when < _ECHO_SECONDS]
    _replaced()[name] = recent
    return any(values == address for values, _ in recent)


def texts(name: str, default: Sequence[str] = ()) -> list[str]:
    """The raw texts of a choice that can hold several."""
    stored, address = _stored(), st.query_params.get_all(name)
    if address and address != stored.get(name) and not _echo(name, address):
        stored[name] = address
        _linked().add(name)
        st.session_state.pop(widget(name), None)
    return list(stored.get(name, default))


def parameters() -> dict[str, list[str]]:
    """All that the address says."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def is_set(name: str) -> bool:
    """Whether anybody has chosen, be it nothing at all."""
    return name in _stored() or bool(st.query_params.get_all(name))


def keep(name: str, values: Sequence[str] | str | int | float) -> None:
    """Remember a choice and write it into the address."""
    listed = [str(values)] if isinstance(values, (str, int, float)) else [str(value) for value in values]
    before = _stored().get(name)
    if before is not None and before != listed:
        _replaced().setdefault(name, []).append((before, time.monotonic()))
    _stored()[name] = listed
    _linked().discard(name)
    if st.query_params.get_all(name) != listed:
        st.query_params[name] = listed
    _note(name)


def put(name: str, values: Sequence[str] | str | int | float) -> None:
    """Remember a choice that was made elsewhere than in its widget, which then shows it."""
    keep(name, values)
    st.session_state.pop(widget(name), None)


def hold(name: str, value: int | str) -> None:
    """Remember a choice of another page, which writes it into its own address."""
    _stored()[name] = [str(value)]
    st.session_state.pop(widget(name), None)


def forget(name: str) -> None:
    """A choice that cannot be made any more, in this page and the others."""
    _stored().pop(name, None)
    st.query_params.pop(name, None)
    st.session_state.pop(widget(name), None)


def one(name: str, default: T, parse: Callable[[str], T]) -> T:
    """A single choice, parsed; text that does not parse is dropped with a message, and the default holds."""
    stored = texts(name)
    if not stored:
        return default
    try:
        return parse(stored[-1])
    except (WhichfluenceError, ValueError, KeyError) as error:
        drop(name, str(error) or f"“{stored[-1][:40]}” is not a valid choice")
        return default


def several(name: str, parse: Callable[[str], T]) -> list[T]:
    """A choice of several, parsed; what does not parse and what stands there twice is left out with a message."""
    parsed: list[T] = []
    for text in texts(name):
        try:
            item = parse(text)
            if item in parsed:
                raise ValueError("it is listed twice")
            parsed.append(item)
        except (WhichfluenceError, ValueError, KeyError) as error:
            _ignored(name, text, str(error))
    return parsed


def drop(name: str, why: str) -> None:
    """Forget a choice that makes no sense, and say so once on the page where a link made it."""
    text = (_stored().pop(name, None) or [""])[-1]
    st.query_params.pop(name, None)
    st.session_state.pop(widget(name), None)
    _ignored(name, text, why)


def _ignored(name: str, text: str, why: str) -> None:
    if name not in _linked():
        return
    message = f"The address said `{name}={text[:60]}`, which was ignored: {why}"
    st.session_state.setdefault(_SAID, {})[message] = time.monotonic()
    st.warning(sentence(message), icon=":material/link_off:")


def remind() -> None:
    """Repeat what was ignored a moment ago: a page that waits or grows runs again before anyone has read it."""
    said = st.session_state.setdefault(_SAID, {})
    for message, when in list(said.items()):
        if time.monotonic() - when > _SAID_SECONDS:
            del said[message]
        else:
            st.warning(sentence(message), icon=":material/link_off:")


def widget(name: str) -> str:
    """The key of the widget that edits a choice."""
    return f"{_WIDGET}{name}"


def bound(name: str, default: T, parse: Callable[[str], T], write: Callable[[T], Any] = str) -> str:
    """Give a widget of key `widget(name)` its value from the choice; returns the key.

    Call `save(name)` after the widget with its value, or use it as `on_change`.
    """
    key = widget(name)
    value = one(name, default, parse)
    if key not in st.session_state:
        st.session_state[key] = value
    return key


def from_options(options: Sequence[T]) -> Callable[[str], T]:
    """A parser that accepts the text of one of the options."""

    def parse(text: str) -> T:
        for option in options:
            if str(option) == text:
                return option
        raise ValueError(f"choose one of {', '.join(map(str, options))}")

    return parse


def on_off(text: str) -> bool:
    """The parser of a switch, which the address says as 1 or 0."""
    return from_options((1, 0))(text) == 1


def within(low: float, high: float, kind: type = int) -> Callable[[str], Any]:
    """A parser for numbers in [low, high]."""

    def parse(text: str) -> Any:
        try:
            number = kind(text)
        except ValueError:
            raise ValueError("it is not a number") from None
        if not low <= number <= high:
            raise ValueError(f"choose a number from {low:g} to {high:g}")
        return number

    return parse
