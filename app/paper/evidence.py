"""What all published results say together, read once: entries for the scoreboard, findings for the statements."""

from __future__ import annotations

import streamlit as st

from app.widgets.results import published
from engine.experiments import publish
from engine.experiments.scoreboard import Entry, entries
from engine.experiments.statements import STATEMENTS
from engine.experiments.statements.findings import findings
from engine.experiments.statements.statement import Finding


def read() -> tuple[list[Entry], list[Finding]]:
    """Of every table and figure, and of every statement.

    Raises `StoreError` where files do not match their manifest.
    """
    return _read(str(publish.folder()), published.changed())


@st.cache_resource(show_spinner=False, max_entries=4)
def _read(root: str, changed: tuple[int, ...]) -> tuple[list[Entry], list[Finding]]:
    found = findings(STATEMENTS.values(), root)
    return entries(found, root), found
