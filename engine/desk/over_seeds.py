"""One question, asked of several training runs: what they say, or the job that asks them."""

from __future__ import annotations

from engine.desk.desk import Desk
from engine.desk.titles import problem_title
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.requests import check_queued
from engine.runs import over_seeds as runs
from engine.scoring.scoring import Scoring


def asked_over_seeds(desk: Desk, source: ProblemSource, scoring: Scoring, candidates: int, seeds: int
                     ) -> runs.Asked | str | Waiting:
    """For the first `candidates` drawn candidates; a sentence where a run cannot be differentiated.

    Raises `InvalidInput` for a behavior that a worker does not know, or that has no gradient.
    """
    candidates = min(candidates, source.n_candidates or source.n_train or candidates)
    payload = runs.payload(source, scoring, candidates, seeds)
    result = desk.jobs.result(runs.KIND, payload)
    if result is not None:
        return runs.load(result)
    check_queued([scoring])
    return desk.jobs.wait(runs.KIND, payload, f"{scoring.title} over {seeds} seeds on {problem_title(source)}, "
                                              f"examples: {candidates:,}")
