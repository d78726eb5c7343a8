"""An error surface: the finished run, or the job that computes it."""

from __future__ import annotations

import numpy as np

from engine.analysis.error_surfaces import SURFACES
from engine.desk.desk import Desk
from engine.desk.titles import problem_title
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.question.behaviors import BEHAVIORS
from engine.runs import error_surface as runs


def asked_surface(desk: Desk, source: ProblemSource, surface: str, behavior: str, candidates: int
                  ) -> dict[str, np.ndarray] | Waiting:
    """metric -> (rows, columns, m) of the first `candidates` drawn candidates."""
    payload = runs.payload(source, surface, behavior, candidates)
    result = desk.jobs.result(runs.KIND, payload)
    if result is not None:
        return desk.memory.kept(("error surface", result.digest), lambda: runs.load(result))
    return desk.jobs.wait(runs.KIND, payload, f"Error surface of {BEHAVIORS[behavior].title} over "
                                              f"{SURFACES[surface].title}, {problem_title(source)}")
