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
from engine.exact.intervened import Changes, Family, check_labels, intervened
from engine.exact.lbfgs import Minimum, minimise
from engine.exact.tolerance import gradient_tolerance
from engine.gradients.response import Response
from engine.problems import Problem
from engine.question.change import Change
from engine.question.interventions import Intervention
from engine.question.processes import LocalSearch

SEARCHED = "search_iterations"
"""The fact that an answer is a number of iterations, wherever they end."""
SHARE_LEFT = "gradient_over_force"
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
    gathered: list[list[_Searched]] = [[] for _ in interventions]
    total = len(interventions) * len(groups)
    for number, rows in enumerate(groups):
        for place, intervention in enumerate(interventions):
            options.check()
            change = intervention.change(problem.n).of_each(len(rows), problem.n)
            objective = family.objective(rows.tolist(), change)
            force = objective.force(family.start)
            found = minimise(objective.evaluate, family.start, iterations=process.iterations,
                             tolerance=gradient_tolerance(force, options.tolerance))
            gathered[place].append(_Searched(found, max(found.gradient_norm, compared.gradient_norm) / force
                                             if found.finite and force > 0 else 0.0))
            options.progress((number * len(interventions) + place + 1) / total)
    return [_response(column, changes, process) for column in gathered]


@dataclass(frozen=True)
class _Searched:
    """left: the gradient at the end over the force."""

    found: Minimum
    left: float


@dataclass(frozen=True)
class _Compared:
    """θ (P,) to compare with, and the gradient that its own search left; 0 where there was none."""

    theta: Tensor
    gradient_norm: float = 0.0


def _compared_with(family: Family, process: LocalSearch) -> _Compared:
    """Without an intervention there is no force, so all iterations are run."""
    if process.baseline == "factual":
        return _Compared(family.start)
    unchanged = family.objective([0], Change())
    found = minimise(unchanged.evaluate, family.start, iterations=process.iterations, tolerance=0.0)
    if not found.finite:
        raise InvalidInput("The search without intervention left the finite numbers; use the baseline `factual`, or a "
                           "damping.")
    return _Compared(found.theta, found.gradient_norm)


def _response(searched: list[_Searched], changes: Changes, process: LocalSearch) -> Response:
    device, column = changes.baseline.device, [one.found for one in searched]
    return Response(
        (changes.part([changes.to(found.theta) for found in column]),),
        torch.tensor([found.finite for found in column], device=device),
        torch.tensor([found.gradient_norm for found in column], dtype=torch.float64, device=device),
        {SEARCHED: float(process.iterations), "iterations": max(found.iterations for found in column),
         "evaluations": max(found.evaluations for found in column), SHARE_LEFT: max(one.left for one in searched)},
    )
