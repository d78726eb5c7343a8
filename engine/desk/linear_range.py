"""How far the derivative of a source's training run reaches: the check, or the job that makes it."""

from __future__ import annotations

from engine.analysis.linear_range import LinearRange
from engine.desk.desk import Desk
from engine.desk.titles import problem_title
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.question.interventions import Infinitesimal
from engine.question.processes import Replay
from engine.runs import linear_range as runs
from engine.runs.scores import check_queued
from engine.scoring.scoring import Scoring


def asked_linear_range(desk: Desk, source: ProblemSource, behavior: str, candidates: int, process: Replay
                       ) -> LinearRange | str | Waiting:
    """For the first `candidates` drawn candidates; a sentence where the run cannot be differentiated.

    Raises `InvalidInput` for a behavior that a worker does not know, or that has no gradient.
    """
    scoring = Scoring.of(behavior, Infinitesimal(), process)
    candidates = min(candidates, source.n_candidates or source.n_train or candidates)
    payload = runs.payload(source, behavior, candidates, process)
    result = desk.jobs.result(runs.KIND, payload)
    if result is not None:
        return runs.load(result)
    check_queued([scoring])
    return desk.jobs.wait(runs.KIND, payload, "Derivative of the training against real trainings on "
                                              f"{problem_title(source)}, examples tried: {candidates}")
