"""How records are read: which answers of a conversation, and patterns that mark spans in a response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.widgets.choices import inputs

TURNS = {"last": "its last answer", "every": "every answer"}
PATTERNS = {"answer": "The answer is ([A-Z])", "explanation": "^(.*?)The answer is"}


def fields(name: str, turns: str, mark: Mapping[str, str]) -> dict[str, Any]:
    """The inputs, inside a form, as what `turns` and `mark` are. name: of the widgets; turns, mark: what they begin
    with."""
    chosen, key = {}, f"own:turns:{name}"
    st.session_state.setdefault(key, turns)
    answers = inputs.selectbox("Of a conversation", list(TURNS), key=key, format_func=TURNS.get)
    for span, like in PATTERNS.items():
        key = f"own:{span}:{name}"
        st.session_state.setdefault(key, mark.get(span, ""))
        chosen[span] = inputs.text_input(
            f"Pattern of the {span} in a response", key=key, placeholder=like,
            help="A regular expression. The last match is used, or its first group if there is one; spans marked in a "
                 "record take precedence.")
    return {"turns": answers, "mark": {span: pattern for span, pattern in chosen.items() if pattern}}
