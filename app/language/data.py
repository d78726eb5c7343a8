"""What the Language models page asks of the desk: a run and the tokens of one of its records, and the start of both."""

from __future__ import annotations

from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from engine.applications.language.run import Attributed, AttributionRequest, TokensRequest
from engine.desk import Waiting
from engine.experiments.language_asked import Asked, guessed_seconds


def found(asked: Asked) -> Attributed | Waiting | None:
    """The finished run, or what to wait for; None where it was not asked for yet."""
    return desk().known(asked.request)


def start(asked: Asked) -> None:
    """Queue the run, or take it up where it stopped. Raises one sentence for a model or task that cannot be had."""
    desk().start(asked.request)


def expected_time(asked: Asked) -> str:
    """How long the run takes, in words."""
    return guesses.told(AttributionRequest.name, asked.seconds, guessed_seconds)


def shaded(asked: Asked, row: int) -> Attributed | Waiting | None:
    """The contributions of one record's tokens, in the table `tokens`, or what to wait for; None where nobody asked."""
    return desk().known(TokensRequest(run=asked.request, record=row))


def shade(asked: Asked, row: int) -> None:
    """Queue the job that computes them, or take it up where it stopped."""
    desk().start(TokensRequest(run=asked.request, record=row))
