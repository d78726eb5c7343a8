"""Scores at once: what a desk computes where it need not be queued, and what a command computes of its own problem."""

from __future__ import annotations

from collections.abc import Sequence

from engine.basics.options import Options
from engine.problems import Problem
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring


def answer(problem: Problem, scorings: Sequence[Scoring], options: Options | None = None,
           candidates: int | None = None) -> list[Scores]:
    """The scores of every scoring over the first `candidates` candidates (None: all), in the order given.

    Raises as `engine.scoring.compute.compute` does.
    """
    return compute(narrowed(problem, candidates), list(scorings), options)


def narrowed(problem: Problem, candidates: int | None) -> Problem:
    """The problem with its first `candidates` candidates; itself where that is all of them."""
    if candidates is None or candidates >= len(problem.candidates):
        return problem
    return problem.with_candidates(problem.candidates[:candidates])
