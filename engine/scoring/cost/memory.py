"""How much memory a process holds while it scores, roughly: what a cluster reserves for a chunk."""

from __future__ import annotations

from collections.abc import Sequence

from engine import data
from engine.basics.options import Options
from engine.problems import ProblemSource
from engine.scoring.cost.kinds import is_optimum
from engine.scoring.scoring import Scoring

PROCESS = 700_000_000
"""Bytes of a process that has loaded everything and computed nothing."""
COPIES = 6
"""How often features in float64 are held: as drawn, as a tensor, in products."""
SQUARES, MORE_SQUARES = 2, 4
"""Matrices of side P that softmax regression holds: the Hessian and its factor; and while optima are sought."""
PASSES, GRADIENT = 200_000_000, 16
"""Of a network: bytes of its passes, and bytes a parameter and candidate."""


def held(source: ProblemSource, scorings: Sequence[Scoring], candidates: int) -> int:
    """Bytes at the peak, on the processor, where so many candidates are scored at once. Raises as
    `data.load`."""
    dataset, parameters = data.load(source.dataset), source.parameters()
    sampled = min(len(dataset.y_train), source.n_train or len(dataset.y_train))
    features = COPIES * 8 * sampled * dataset.n_features // source.pool ** 2
    if not source.problem_class.linear:
        return PROCESS + features + min(Options.budget, PASSES + GRADIENT * parameters * candidates)
    squares = MORE_SQUARES if any(map(is_optimum, scorings)) else SQUARES
    return PROCESS + features + squares * 8 * parameters ** 2
