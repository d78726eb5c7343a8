"""What one waits for when an answer is not there yet."""

from __future__ import annotations

from dataclasses import dataclass

from engine.problems import ProblemSource


@dataclass(frozen=True)
class Waiting:
    """The model of `source`, in preparation in this process, or the queued job with the id `job`.

    what: a title. Ask again for what was asked until it is there; `Desk.preparing` and the queue say how far it is.
    """

    what: str
    job: str | None = None
    source: ProblemSource | None = None
