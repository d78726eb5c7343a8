"""Inputs for the parameters of an intervention or a process, from the fields that it declares."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.widgets.pickers import declared_input
from engine.basics.settings import declared
from engine.desk import Problem, language_presets
from engine.question.processes import PROCESSES

LABELS = {"eta": "step size η", "alpha": "weight α", "iterations": "L-BFGS iterations",
          "every": "steps between checkpoints", "label": "new label", "at": "number",
          "first": "seeds after the model's own", "fractions": "at these fractions of the training, separated by "
                                                               "commas",
          "weights": "each weighted", "unit": "in one", "normalization": "mean over", "baseline": "compared with"}
"""Where it is another than the name of the parameter."""
BEGIN = {"eta": 0.1, "alpha": 1e-3, "steps": 5, "label": 0}
"""Of parameters without a default."""
TITLES = {
    "weights": {"recipe": "as the recipe states", "step": "by the learning rate of its step"},
    "unit": {"epoch": "epoch of the training", "step": "step of the training"},
    "normalization": {"n-1": "the other n−1 (paper)", "n": "n as before"},
    "baseline": {"factual": "the trained model (paper)", "reoptimized": "re-optimised unchanged"},
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
        setting = declared(kind)[field]
        chosen[field] = declared_input.draw(setting, LABELS.get(field, setting.label), key, begin,
                                            titles=TITLES.get(field))
    return chosen


def _fields(kind: Any, model: type[Problem]) -> list[str]:
    """Without what a process reads only where it trains the model itself, of a model that trained by its recipe."""
    left_out = kind.of_descent if kind in PROCESSES.values() and model.stored_checkpoints else ()
    return [field for field in kind.model_fields if field != "kind" and field not in left_out]


def _usual(kind: Any, field: str, model: type[Problem]) -> Any:
    if field == "checkpoints" and model.reads == "tokens":
        return language_presets.CHECKPOINTS
    setting = declared(kind)[field]
    return setting.kind(BEGIN.get(field, 0) if setting.default is None else setting.default)
