"""Self-influence of the candidates of a drawn problem: at once, or the job that computes it."""

from __future__ import annotations

import numpy as np

from engine.analysis.self_influence import BLOCK, self_influence
from engine.desk.answering import narrowed
from engine.desk.desk import Desk
from engine.desk.titles import problem_title
from engine.desk.waiting import Waiting
from engine.problems import DrawnProblem
from engine.requests import check_queued
from engine.runs import self_influence as runs
from engine.scoring import cost
from engine.scoring.scoring import Scoring


def asked_self_influence(desk: Desk, drawn: DrawnProblem, scoring: Scoring, candidates: int | None
                         ) -> np.ndarray | Waiting:
    """The values over the first `candidates` drawn candidates, computed at once where that is quick; else a job."""
    chosen, source = narrowed(drawn.problem, candidates), drawn.source
    count = len(chosen.candidates)
    seconds = cost.guess([scoring], chosen.at_itself(chosen.candidates[:BLOCK]), count)
    if seconds <= source.problem_class.live_seconds:
        def compute() -> np.ndarray:
            with desk.computing:
                return self_influence(chosen, scoring)

        return desk.memory.kept(("self-influence", source.key, scoring.digest, count), compute)
    payload = runs.payload(source, scoring, count)
    result = desk.jobs.result(runs.KIND, payload)
    if result is not None:
        return runs.load(result)
    check_queued([scoring])
    return desk.jobs.wait(runs.KIND, payload, f"Self-influence of {count:,} candidates on {problem_title(source)}")
