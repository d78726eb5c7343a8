"""How long a set of scorings will take, roughly: to decide between answering at once and queueing a job.

The guess counts floating-point operations; it only has to be right within a factor of two or so.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.scoring import Scoring

OPTIMA = ("reoptimize", "retrain")
GIGAFLOPS = 60.0
PASSES = {1e-4: 8, 1e-3: 10, 1e-2: 14, 1.0: 22}


def is_optimum(scoring: Scoring) -> bool:
    """Whether every candidate costs a re-optimisation."""
    return scoring.process.kind in OPTIMA and scoring.exact


def seconds(scorings: Sequence[Scoring], *, n: int, parameters: int, queries: int, candidates: int) -> float:
    """Estimated seconds on two CPU cores once the model is trained."""
    classes_times_features = parameters
    total = 0.0
    seen = set()
    for scoring in scorings:
        key = (scoring.intervention, scoring.process, scoring.estimator)
        if is_optimum(scoring) and key not in seen:
            one_pass = 4.0 * n * classes_times_features + 2.0 * parameters * min(parameters, 12_000)
            total += candidates * _passes(scoring) * one_pass
        elif scoring.process.kind in ("local_response", *OPTIMA) and key not in seen:
            total += 2.0 * candidates * parameters * min(parameters, 12_000)
        total += 300.0 * queries * candidates
        seen.add(key)
    return total / (GIGAFLOPS * 1e9)


def _passes(scoring: Scoring) -> int:
    alpha = getattr(scoring.intervention, "alpha", 1e-3)
    return next(count for limit, count in PASSES.items() if alpha <= limit)
