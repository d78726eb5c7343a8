"""What scorings of softmax regression cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.question.interventions import Upweight
from engine.question.processes import LocalSearch, Replay
from engine.scoring.cost.kinds import is_searched
from engine.scoring.scoring import Scoring

DOUBLE, SINGLE = 60e9, 90e9  # flops a second of two CPU cores, in float64 and in float32
PASSES = {1e-4: 7, 1e-3: 9, 1e-2: 12, 1.0: 15, 100.0: 25, math.inf: 40}
"""Passes over the data a candidate, for |α| up to the key."""
DENSE = 12_000
STEP, COLUMN = 1e-3, 1.5
"""Of a replay: seconds a step takes however small it is, and what a column costs in passes."""
EIGENBASIS = 10.0
"""P³ operations that the eigendecomposition of a matrix of side P takes."""
CHOLESKY, INVERTED = 0.6, 1.2
"""P³ operations that a factor takes, and the inverse from it, at the rate of a matrix product."""
FACTOR, INVERSE = "cholesky", "training_data"
EVALUATIONS = 1.2
"""Of an objective, in every iteration of L-BFGS; each costs about a pass."""


def seconds(scorings: Sequence[Scoring], *, n: int, parameters: int, queries: int, candidates: int) -> float:
    """Estimated seconds on two CPU cores once the model is trained and its Hessian is factored."""
    dense, one_pass = 2.0 * parameters * min(parameters, DENSE), 4.0 * n * parameters
    total, seen = 0.0, set()
    for scoring in scorings:
        key = (scoring.intervention, scoring.counterfactual)
        if is_searched(scoring) and key not in seen:
            total += candidates * _passes(scoring) * (one_pass + dense) / SINGLE
        elif isinstance(scoring.process, Replay):
            total += scoring.process.steps * (STEP + COLUMN * min(candidates, queries) * one_pass / DOUBLE)
            total += scoring.route.cost.eigenbases * EIGENBASIS * parameters ** 3 / DOUBLE
        elif scoring.process.linear and key not in seen:
            total += candidates * (one_pass + dense) / DOUBLE
        total += 300.0 * queries * candidates / DOUBLE
        seen.add(key)
    return total


def preparation(scorings: Sequence[Scoring], n: int, parameters: int) -> tuple[str, float]:
    """What a dense problem has to hold before these scorings, and the seconds that it takes on two CPU cores: for a
    linear response the Hessian's Cholesky factor, for an optimum its inverse, too."""
    factor = (n * parameters ** 2 + parameters ** 3 * CHOLESKY) / DOUBLE
    if any(map(is_searched, scorings)):
        return INVERSE, factor + INVERTED * parameters ** 3 / DOUBLE
    return (FACTOR, factor) if any(scoring.process.linear for scoring in scorings) else ("", 0.0)


def _passes(scoring: Scoring) -> float:
    if isinstance(scoring.process, LocalSearch):
        return EVALUATIONS * scoring.process.iterations
    alpha = abs(scoring.intervention.alpha) if isinstance(scoring.intervention, Upweight) else 1e-3
    return next(count for limit, count in PASSES.items() if alpha <= limit)
