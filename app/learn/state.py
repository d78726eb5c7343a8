"""What the Learn page shows, chosen and kept in the address: the step of the tour, and the one control of a lesson."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.words import glossary
from engine.basics.values import short

STEP, PLAY = "step", "play"


def told(steps: list[str]) -> str:
    """Which step the address tells."""
    return choice.one(STEP, steps[0], choice.from_options(steps))


def step(steps: list[str]) -> str:
    """Which step is shown: a lesson by its number, or `play`."""
    key = choice.bound(STEP, steps[0], choice.from_options(steps))
    chosen = inputs.segmented_control("Step", steps, key=key, format_func=lambda name: "Play" if name == PLAY else name,
                                      required=True)
    choice.keep(STEP, chosen)
    return chosen


def go(step: str) -> None:
    """Show another step."""
    choice.keep(STEP, step)
    st.session_state[choice.widget(STEP)] = step


def pick(name: str, prompt: str, options: Sequence, default: Any, title: Callable[[Any], str] = str,
         slider: bool = False) -> Any:
    """The one control of a lesson."""
    key = choice.bound(name, default, choice.from_options(list(options)))
    if slider:
        value = inputs.select_slider(prompt, list(options), key=key, format_func=title, help=glossary.hint(prompt))
    else:
        value = inputs.segmented_control(prompt, list(options), key=key, format_func=title, required=True,
                                         help=glossary.hint(prompt))
    choice.keep(name, str(value))
    return value


def place(name: str, prompt: str, default: float, side: float) -> float:
    """A coordinate in [−side, side]."""
    key = choice.bound(name, default, choice.within(-side, side, float))
    value = inputs.slider(prompt, -side, side, step=0.1, key=key)
    choice.keep(name, f"{value:g}")
    return value


def eta(default: float, longest: float) -> float:
    """A step size up to `longest`."""
    key = choice.bound("eta", default, choice.within(0.01, longest, float))
    value = inputs.slider("Step size η", 0.01, longest, step=0.01, key=key, help=glossary.hint("Step size η"))
    choice.keep("eta", short(value))
    return value
