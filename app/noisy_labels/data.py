"""What the Noisy labels page asks of the desk: how long its runs take."""

from __future__ import annotations

from app.widgets.jobs import guesses
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import NoisySource


def search_time(source: NoisySource) -> str:
    """How long the search takes, in words."""
    return guesses.described(searches.SEARCH, searches.seconds(source), searches.seconds_of)


def retraining_time(source: NoisySource, trainings: int) -> str:
    """How long so many trainings take, in words."""
    return guesses.described(searches.RETRAINING, searches.seconds(source, trainings), searches.seconds_of)


def count_time(source: NoisySource) -> str:
    """How long the first list of suspects takes, with the count of wrong labels, in words."""
    return guesses.described(searches.COUNT, searches.seconds(source, source.held_out_folds), searches.seconds_of)
