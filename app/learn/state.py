"""What the Learn page shows, chosen and kept in the address: the step of the tour, and the one control of a lesson."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.widgets.choices import choice
from app.widgets.choices.selectors import segments, slide, slider
from app.widgets.words import glossary
from engine.basics.values import short

STEP, PLAY = "step", "play"


def current(steps: list[str]) -> str:
    """Which step the address tells."""
    return choice.one(STEP, steps[0], choice.from_options(steps))


def step(steps: list[str]) -> str:
    """Which step is shown: a lesson by its number, or `play`."""
    return segments(STEP, "Step", steps, steps[0], lambda name: "Play" if name == PLAY else name)


def go(step: str) -> None:
    """Show another step."""
    choice.keep(STEP, step)
    st.session_state[choice.widget(STEP)] = step


def pick(name: str, prompt: str, options: Sequence, default: Any, title: Callable[[Any], str] = str,
         scale: bool = False) -> Any:
    """The one control of a lesson."""
    return (slide if scale else segments)(name, prompt, list(options), default, title, help=glossary.hint(prompt))


def coordinate(name: str, prompt: str, default: float, side: float) -> float:
    """A coordinate in [−side, side]."""
    return slider(name, prompt, default, -side, side, "{:g}".format, step=0.1)


def eta(default: float, longest: float) -> float:
    """A step size up to `longest`."""
    return slider("eta", "Step size η", default, 0.01, longest, short, step=0.01, help=glossary.hint("Step size η"))
