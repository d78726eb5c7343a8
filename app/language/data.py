"""What the Language models page asks of the desk: a run and the tokens of one of its records, and the start of both."""

from __future__ import annotations

from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from engine.desk import Waiting
from engine.desk import attributed as runs
from engine.desk.attributed import Attributed
from engine.experiments.language_asked import Asked, guessed_seconds
from engine.runs import language as language_run


def found(asked: Asked) -> Attributed | Waiting | None:
    """The finished run, or what to wait for; None where it was not asked for yet."""
    return runs.attributed(desk(), asked)


def start(asked: Asked) -> None:
    """Queue the run, or take it up where it stopped. Raises one sentence for a model or task that cannot be had."""
    runs.attribute(desk(), asked)


def expected_time(asked: Asked) -> str:
    """How long the run takes, in words."""
    return guesses.told(language_run.KIND, asked.seconds, guessed_seconds)


def shaded(asked: Asked, row: int) -> Attributed | Waiting | None:
    """The contributions of one record's tokens, in the table `tokens`, or what to wait for; None where nobody asked."""
    return runs.shaded(desk(), asked, row)


def shade(asked: Asked, row: int) -> None:
    """Queue the job that computes them, or take it up where it stopped."""
    runs.shade(desk(), asked, row)
