r"""`local_search`: some iterations of L-BFGS from θ_D on every intervened objective, wherever they end.

This is the paper's local re-optimisation of a network (Appendix A-1). θ_D need not be an optimum, and where the
iterations end is in general none: the process is its iterations. `engine.exact.network_optima` goes on to the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.intervened import Changes, InterventionFamily, Objective, check_labels, intervened
from engine.exact.lbfgs import Minimum, minimise
from engine.exact.tolerance import gradient_tolerance
from engine.gradients.response import Response
from engine.problems import Problem
from engine.question.change import Change
from engine.question.interventions import Intervention
from engine.question.processes import LocalSearch

SEARCHED = "search_iterations"
"""The fact that an answer is a number of iterations, wherever they end."""
FRACTION_LEFT = "gradient_over_force"
"""The fact how large the gradient is where they end, at most, relative to the force of the intervention: the gradient
at θ_D of what it adds to the objective. Of what the answer is compared with too, where that was searched."""


def local_search(problem: Problem, interventions: Sequence[Intervention], process: LocalSearch, candidates: Tensor,
                 options: Options) -> list[Response]:
    """One response an intervention, for training examples `candidates` (b,), as `searched_groups` finds it."""
    return searched_groups(problem, interventions, process, candidates.split(1), options)


def searched_groups(problem: Problem, interventions: Sequence[Intervention], process: LocalSearch,
                    groups: Sequence[Tensor], options: Options) -> list[Response]:
    """One response an intervention, a column for each group (b_j,) of training examples, in float64; of a network in
    the precision that `options` asks for.

    The search of a group ends before its last iteration only at an optimum, as `gradient_tolerance` counts one, or
    where no step leads down. `converged` says no more than that the iterate and its gradient are finite; the gradient
    norm where it ended is in `residual`. Raises `InvalidInput` for a relabelling to a class that does not exist, and
    where the baseline without intervention leaves the finite numbers.
    """
    check_labels(problem, interventions)
    family = intervened(problem, process.damping, options)
    family.keep(family.start)
    compared = _compared_with(family, process)
    changes = family.changes(compared.theta)

    def search(objective: Objective) -> _Searched:
        force = objective.force(family.start)
        minimum = minimise(objective.evaluate, family.start, iterations=process.iterations,
                           tolerance=gradient_tolerance(force, options.tolerance))
        return _Searched(minimum, max(minimum.gradient_norm, compared.gradient_norm) / force
                         if minimum.finite and force > 0 else 0.0)

    columns = family.solved(interventions, groups, problem.n, options, search)
    return [_response(column, changes, process) for column in columns]


@dataclass(frozen=True)
class _Searched:
    """left: the gradient at the end over the force."""

    minimum: Minimum
    left: float


@dataclass(frozen=True)
class _Compared:
    """θ (P,) to compare with, and the gradient that its own search left; 0 where there was none."""

    theta: Tensor
    gradient_norm: float = 0.0


def _compared_with(family: InterventionFamily, process: LocalSearch) -> _Compared:
    """Without an intervention there is no force, so all iterations are run."""
    if process.baseline == "factual":
        return _Compared(family.start)
    unchanged = family.objective([0], Change())
    minimum = minimise(unchanged.evaluate, family.start, iterations=process.iterations, tolerance=0.0)
    if not minimum.finite:
        raise InvalidInput("The search without intervention diverged; use the baseline `factual`, or a "
                           "damping.")
    return _Compared(minimum.theta, minimum.gradient_norm)


def _response(searched: list[_Searched], changes: Changes, process: LocalSearch) -> Response:
    device, column = changes.baseline.device, [one.minimum for one in searched]
    return Response(
        (changes.term([changes.to(end.theta) for end in column]),),
        torch.tensor([end.finite for end in column], device=device),
        torch.tensor([end.gradient_norm for end in column], dtype=torch.float64, device=device),
        {SEARCHED: float(process.iterations), "iterations": max(end.iterations for end in column),
         "evaluations": max(end.evaluations for end in column), FRACTION_LEFT: max(one.left for one in searched)},
    )
