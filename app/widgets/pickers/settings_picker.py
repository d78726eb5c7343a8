"""Inputs for the settings of an estimator, from what the estimator declares of them."""

from __future__ import annotations

import streamlit as st

from app.widgets.pickers import declared_input
from app.widgets.words import glossary
from engine.basics.settings import declared, parsed
from engine.scoring.scoring import ESTIMATORS, written


def show(name: str, estimator: str, default: str) -> str:
    """The estimator with its settings, as `lissa;iterations=1000`. default: the same of what stood there before.

    Raises `InvalidInput` where settings do not go together.
    """
    settings = ESTIMATORS[estimator].settings
    if settings is None:
        return estimator
    before, given = parsed(default)
    start, chosen = settings.read(given, estimator) if before == estimator else settings(), {}
    for field, setting in declared(settings).items():
        key, begin = f"{name}:{estimator}:{field}", getattr(start, field)
        st.session_state.setdefault(key, begin)
        chosen[field] = declared_input.draw(setting, setting.label, key, begin)
    if costs := settings.read(chosen, estimator).costs:
        glossary.caption(f"This takes {costs}.")
    return written({"name": estimator, **chosen})
