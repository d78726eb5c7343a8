"""What the Noisy labels page asks of the desk: how long its runs take, and what was understood of a user's data."""

from __future__ import annotations

import streamlit as st

from app.widgets.jobs import guesses
from engine.desk import noisy_labels as searches
from engine.desk.datasets import Preview
from engine.desk.datasets import preview as preview_of
from engine.desk.noisy_labels import NoisySource


@st.cache_data(show_spinner="Looking at your data", max_entries=8)
def preview(name: str, content: str) -> Preview:
    """What was understood of a user's own data."""
    return preview_of(name)


def search_time(source: NoisySource) -> str:
    """How long the search takes, in words."""
    return guesses.described(searches.SEARCH, searches.seconds(source), searches.seconds_of)


def retraining_time(source: NoisySource, trainings: int) -> str:
    """How long so many trainings take, in words."""
    return guesses.described(searches.RETRAINING, searches.seconds(source, trainings), searches.seconds_of)
