"""The three stages of a lesson, always in this order: predict, reveal, take away; and what was predicted.

A result opens in the browser that asked for it: a link to a later stage begins at the question anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import streamlit as st

from app.learn import browser, state
from app.widgets.choices import choice
from engine.basics.errors import StoreError
from engine.desk.analyses import Answer, Answers

PREDICT, REVEAL, TAKE = "predict", "reveal", "takeaway"
STAGES = {PREDICT: "Predict", REVEAL: "Reveal", TAKE: "Take away"}
NAME = "stage"
_ANSWERS = "_lesson_answers"
Found = TypeVar("Found")


def current(slug: str) -> str:
    """The stage in the address, where this browser has come to it."""
    stage = choice.one(NAME, PREDICT, choice.from_options(list(STAGES)))
    if stage != PREDICT and not opened(slug):
        choice.keep(NAME, PREDICT)
        return PREDICT
    return stage


def go(step: str, stage: str, slug: str) -> None:
    """Show a stage of a step."""
    state.go(step)
    choice.keep(NAME, stage)
    if stage != PREDICT:
        open_(slug)


def neighbours(step: str, stage: str, steps: list[str]) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """(step, stage) before and after this one; None at either end."""
    order = [(one, each) for one in steps for each in STAGES]
    index = order.index((step, stage))
    return order[index - 1] if index else None, order[index + 1] if index + 1 < len(order) else None


def predicted(slug: str) -> int | None:
    """The index of the option that was chosen; None where none was."""
    return _answer(slug).guess


def opened(slug: str) -> bool:
    """Whether the result was asked for."""
    return _answer(slug).opened


def predict(slug: str) -> None:
    """Take over what is chosen now."""
    _keep(slug, _answer(slug)._replace(guess=st.session_state[widget(slug)]))


def open_(slug: str) -> None:
    """The result is asked for."""
    _keep(slug, _answer(slug)._replace(opened=True))


def forget(slug: str) -> None:
    """As if nothing was predicted and seen."""
    _answers().pop(slug, None)
    st.session_state.pop(widget(slug), None)
    _stored(lambda answers: answers.forget(browser.visitor(), slug))


def widget(slug: str) -> str:
    """The key of the question."""
    return f"learn:predict:{slug}"


def _answers() -> dict[str, Answer]:
    """Of this session; those before it too, where the file of answers can be used."""
    if _ANSWERS not in st.session_state:
        st.session_state[_ANSWERS] = _stored(lambda answers: answers.of(browser.visitor())) or {}
    return st.session_state[_ANSWERS]


def _answer(slug: str) -> Answer:
    return _answers().get(slug, Answer())


def _keep(slug: str, answer: Answer) -> None:
    if answer != _answer(slug):
        _answers()[slug] = answer
        _stored(lambda answers: answers.keep(browser.visitor(), slug, answer))


def _stored(act: Callable[[Answers], Found]) -> Found | None:
    """What the file of answers gives; None where it cannot be used, and the session goes on without it."""
    with suppress(StoreError):
        return act(Answers())
    return None
