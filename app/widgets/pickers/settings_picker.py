"""Inputs for the settings of an estimator, from what the estimator declares of them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.widgets.choices import inputs
from app.widgets.words import glossary
from engine.basics.settings import parsed
from engine.scoring.scoring import ESTIMATORS, written

MOST = 1e9


def show(name: str, estimator: str, default: str) -> str:
    """The estimator with its settings, as `lissa;iterations=1000`. default: the same of what stood there before.

    Raises `InvalidInput` where settings do not go together.
    """
    declared = ESTIMATORS[estimator].settings
    if declared is None:
        return estimator
    before, given = parsed(default)
    start = declared.read(given, estimator) if before == estimator else declared()
    chosen = {field: _input(f"{name}:{estimator}:{field}", field, getattr(start, field), schema)
              for field, schema in declared.model_json_schema()["properties"].items()}
    return written({"name": estimator, **chosen})


def _input(key: str, field: str, start: Any, schema: dict[str, Any]) -> Any:
    """One input, with the bounds and the description of a setting's JSON schema."""
    label, help = field.replace("_", " "), glossary.hint(field.replace("_", " "), schema["description"])
    st.session_state.setdefault(key, start)
    if "enum" in schema:
        return inputs.selectbox(label, schema["enum"], key=key, help=help)
    kind = type(start)
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get(
        "maximum", schema.get("exclusiveMaximum", MOST))
    return inputs.number_input(label, kind(low), kind(high), key=key, help=help, format="%d" if kind is int else "%g",
                               step=max(1, start // 2) if kind is int else start / 2)
