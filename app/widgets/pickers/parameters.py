"""Inputs for the parameters of an intervention or a process, from the fields that it declares."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.widgets.choices import inputs
from app.widgets.words import glossary
from engine.desk import Problem, language_presets
from engine.question.processes import PROCESSES

PARAMETERS = {
    "eta": ("step size η", 0.1, 1e-6, 100.0),
    "alpha": ("weight α", 1e-3, -1.0, 1e6),
    "damping": ("damping", 0.0, 0.0, 1e6),
    "steps": ("steps", 5, 1, 10_000),
    "iterations": ("L-BFGS iterations", 20, 1, 10_000),
    "checkpoints": ("checkpoints", 5, 1, 1_000),
    "every": ("steps between checkpoints", 20, 1, 10_000),
    "label": ("new label", 0, 0, 10_000),
    "at": ("number", 1, 1, 10_000_000),
    "seeds": ("seeds", 1, 1, 1_000),
    "first": ("seeds after the model's own", 0, 0, 1_000_000),
}
TEXTS = {"fractions": "at these fractions of the training, commas between"}
CHOICES = {
    "weights": ("each weighted", {"recipe": "as the recipe states", "step": "by the learning rate of its step"}),
    "unit": ("in one", {"epoch": "epoch of the training", "step": "step of the training"}),
    "normalization": ("mean over", {"n-1": "the n−1 left (paper)", "n": "n as before"}),
    "baseline": ("compared with", {"factual": "the trained model (paper)", "reoptimized": "re-optimised unchanged"}),
}


def usual(kind: Any, model: type[Problem]) -> dict[str, Any]:
    """What the inputs of an intervention or process begin with."""
    return {field: _usual(kind, field, model) for field in _fields(kind, model)}


def show(name: str, kind: Any, default: Any, model: type[Problem]) -> dict[str, Any]:
    """The inputs. name: of the widgets. default: an intervention or process, whose values they begin with where it is
    of this kind."""
    chosen = {}
    for field, begin in usual(kind, model).items():
        key = f"{name}:{kind.__name__}:{field}"
        current = getattr(default, field) if isinstance(default, kind) else None
        st.session_state.setdefault(key, begin if current is None else type(begin)(current))
        if field in CHOICES:
            label, titles = CHOICES[field]
            chosen[field] = inputs.selectbox(label, list(titles), key=key, format_func=titles.get,
                                             help=glossary.hint(label))
            continue
        if field in TEXTS:
            chosen[field] = inputs.text_input(TEXTS[field], key=key, help=glossary.hint(TEXTS[field]))
            continue
        label, _, low, high = PARAMETERS[field]
        small = isinstance(begin, float)
        chosen[field] = inputs.number_input(label, low, high, key=key, format="%g" if small else "%d",
                                            step=None if not small else max(begin / 2, 0.005),
                                            help=glossary.hint(label))
    return chosen


def _fields(kind: Any, model: type[Problem]) -> list[str]:
    """Without what a process reads only where it trains the model itself, of a model that trained by its recipe."""
    left_out = kind.of_descent if kind in PROCESSES.values() and model.stored_checkpoints else ()
    return [field for field in kind.model_fields if field != "kind" and field not in left_out]


def _usual(kind: Any, field: str, model: type[Problem]) -> Any:
    if field in CHOICES:
        return next(iter(CHOICES[field][1]))
    if field in TEXTS:
        return kind.model_fields[field].default
    if field == "checkpoints" and model.reads == "tokens":
        return language_presets.CHECKPOINTS
    value, declared = PARAMETERS[field][1], kind.model_fields[field]
    return value if declared.is_required() else type(value)(declared.default)
