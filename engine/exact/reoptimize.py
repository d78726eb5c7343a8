"""`reoptimize`: from θ_D to the optimum of the intervened objective; each kind of problem has its own route.

Softmax regression: `engine.exact.optima`. A module: `engine.exact.local_search`.
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


@singledispatch
def reoptimize(problem: Problem, interventions: Sequence[Intervention], process: Reoptimize | Retrain,
               candidates: Tensor, options: Options) -> list[Response]:
    """One response an intervention, for training examples `candidates` (b,)."""
    raise TypeError(f"no re-optimisation is known for {problem.noun}")


@singledispatch
def prepare(problem: Problem) -> None:
    """Compute, and keep on the problem, what the first re-optimisation would otherwise wait for; most need nothing."""
