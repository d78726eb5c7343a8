"""How a file of own records is read, chosen in a form and kept in the address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.widgets.choices import choice
from app.widgets.frame.guard import guarded
from app.widgets.pickers import records_reading
from engine.desk import language

TURNS, MARK = "turns", "mark"


def chosen(file: str) -> dict[str, Any]:
    """turns and mark as a study has them; none where there is no file."""
    if not file:
        return {}
    begun = language.begun()
    usual: tuple[str, Mapping[str, str]] = (begun.turns, begun.mark) if begun and begun.file == file else ("last", {})
    return {"turns": choice.one(TURNS, usual[0], choice.from_options(list(records_reading.TURNS))),
            "mark": dict(choice.several(MARK, _rule)) or usual[1]}


def show(file: str) -> None:
    """What is read, and the form. Raises as `language.read_jsonl` does."""
    reading = chosen(file)
    st.caption(_marked(file, reading))
    with st.expander("Import settings", icon=":material/tune:"), guarded("This reading"):
        with st.form("language:reading", border=False):
            given = records_reading.fields(f"language:{file}:{reading}", **reading)
            pressed = st.form_submit_button("Import with these settings", icon=":material/refresh:")
        if pressed:
            _marked(file, given)
            choice.keep(TURNS, given["turns"])
            choice.keep(MARK, [f"{span}={pattern}" for span, pattern in given["mark"].items()])
            st.rerun()


def _marked(file: str, reading: dict[str, Any]) -> str:
    return language.marked_sentence(language.read_jsonl(file, reading["turns"], reading["mark"]))


def _rule(text: str) -> tuple[str, str]:
    """Raises `ValueError` for what is no pattern of a span."""
    span, given, pattern = text.partition("=")
    if span not in records_reading.PATTERNS or not given or not pattern:
        raise ValueError("write a span and its pattern, such as answer=The answer is ([A-Z])")
    return span, pattern
