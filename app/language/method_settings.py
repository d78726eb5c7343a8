"""Settings of the methods of a run, from what the methods declare of them; they stand in the address."""

from __future__ import annotations

import streamlit as st

from app.widgets.choices import choice
from app.widgets.pickers import declared_input
from engine.desk.language import METHOD_SETTINGS, Study


def show(study: Study) -> Study:
    """The study with the settings that are chosen."""
    given = {name: study.method_setting(name) for name in METHOD_SETTINGS}
    with st.expander("Settings of the methods", icon=":material/tune:",
                     expanded=any(choice.is_set(f"method-{name}") for name in given)):
        areas = st.columns(len(given))
        chosen = {name: declared_input.bound(f"method-{name}", setting, given[name], area=area)
                  for area, (name, setting) in zip(areas, METHOD_SETTINGS.items(), strict=True)}
    return study.with_methods(chosen)
