"""What one waits for when an answer is not there yet."""

from __future__ import annotations

from dataclasses import dataclass

from engine.problems import ProblemSource


@dataclass(frozen=True)
class Waiting:
    """The model of `source`, in preparation in this process, or the queued job with the id `job`.

    what: a title. needs: what the trained problem does not hold yet, as `Problem.holds` names it. Ask again for what
    was asked until it is there; `Desk.ahead` and the queue say how far it is. batch: the piece of work whose parts are
    waited for, as `JobQueue.batch` lists them; `job` is one of those, and once `source` is ready there are more.
    partial: whether what is finished of it shows before all is.
    """

    what: str
    job: str | None = None
    source: ProblemSource | None = None
    needs: str = ""
    batch: str = ""
    partial: bool = False
