"""`reoptimize`: from θ_D to the optimum of the intervened objective; each kind of problem has its own route.

Softmax regression: `engine.exact.optima`. A module: `engine.exact.network_optima`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from torch import Tensor

from engine.basics.options import Options
from engine.exact.response import Response
from engine.problems import Problem
from engine.question.interventions import Intervention
from engine.question.processes import Reoptimize, Retrain

SHARE_OF_FORCE = 1e-6
SMALLEST_TOLERANCE = 1e-15
"""About what rounding in float64 leaves of a gradient."""


@singledispatch
def reoptimize(problem: Problem, interventions: Sequence[Intervention], process: Reoptimize | Retrain,
               candidates: Tensor, options: Options) -> list[Response]:
    """One response an intervention, for training examples `candidates` (b,)."""
    raise TypeError(f"no re-optimisation is known for {problem.noun}")


@singledispatch
def prepare(problem: Problem) -> None:
    """Compute, and keep on the problem, what the first re-optimisation would otherwise wait for; most need nothing."""


def gradient_tolerance(force: float, tolerance: float) -> float:
    """‖∇F_k‖ at which a network counts as re-optimised: a millionth of the force that moves its optimum, and no more
    than `tolerance`.

    A small α moves little, so that the same gradient norm would be a larger share of its score. Where nothing is
    changed (no force), `tolerance` alone.
    """
    return min(tolerance, max(SHARE_OF_FORCE * force, SMALLEST_TOLERANCE)) if force > 0 else tolerance
