"""Which scorings cost much a candidate."""

from __future__ import annotations

from engine.scoring.scoring import Scoring

QUICK_SOLVE = 2_000
"""Up to so many parameters the linear solves of every training example are a matter of a second."""


def is_optimum(scoring: Scoring) -> bool:
    """Whether every candidate's optimum is found."""
    return scoring.process.optimum and scoring.exact


def is_searched(scoring: Scoring) -> bool:
    """Whether every candidate's model is looked for on its own objective, by many passes over all examples."""
    return scoring.process.whole_objective and scoring.exact


def is_slow(scoring: Scoring, parameters: int) -> bool:
    """Whether a candidate costs so much that a live page scores some of them only."""
    solved = scoring.process.linear and scoring.route.computes
    return is_searched(scoring) or (solved and parameters > QUICK_SOLVE)
