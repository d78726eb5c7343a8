"""What approximations of a training's derivative get wrong, and when examples matter in it."""

from __future__ import annotations

from engine.analysis.run_errors import RunErrors
from engine.desk.desk import Desk
from engine.desk.titles import problem_title
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.question.interventions import Infinitesimal
from engine.question.processes import Replay
from engine.runs import run_errors as runs
from engine.runs.scores import check_queued
from engine.scoring.scoring import Scoring


def asked_run_errors(desk: Desk, source: ProblemSource, behavior: str, candidates: int, process: Replay
                     ) -> RunErrors | str | Waiting:
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
    return desk.jobs.wait(runs.KIND, payload, f"Approximations of the training run on {problem_title(source)}, "
                                              f"examples: {candidates:,}")
