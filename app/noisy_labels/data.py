"""What the Noisy labels page asks of the desk: how long its runs take."""

from __future__ import annotations

from app.widgets.jobs import guesses
from engine.desk.noisy_labels import HeldOutRequest, NoisySource, SuspicionRequest


def search_time(source: NoisySource) -> str:
    """How long the search takes, in words."""
    return guesses.expected(SuspicionRequest(source=source))


def count_time(source: NoisySource) -> str:
    """How long the first list of suspects takes, with the count of wrong labels, in words."""
    return guesses.expected(HeldOutRequest(source=source))
