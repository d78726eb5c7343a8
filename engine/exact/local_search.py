r"""`local_search`: some iterations of L-BFGS from θ_D on every intervened objective, wherever they end.

This is the paper's local re-optimisation of a network (Appendix A-1). θ_D need not be an optimum, and where the
iterations end is in general none: the process is its iterations. `engine.exact.network_optima` goes on to the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.intervened import Family, check_labels, intervened
from engine.exact.lbfgs import Minimum, minimise
from engine.exact.reoptimize import gradient_tolerance
from engine.exact.response import Part, Response
from engine.problems import Problem
from engine.question.change import Change
from engine.question.interventions import Intervention
from engine.question.processes import LocalSearch


def local_search(problem: Problem, interventions: Sequence[Intervention], process: LocalSearch, candidates: Tensor,
                 options: Options) -> list[Response]:
    """One response an intervention, for training examples `candidates` (b,), in float64.

    The search of a candidate ends before its last iteration only at an optimum, as `gradient_tolerance` counts one, or
    where no step leads down. `converged` says no more than that the iterate and its gradient are finite; the gradient
    norm where it ended is in `residual`. Raises `InvalidInput` for a relabelling to a class that does not exist, and
    where the baseline without intervention leaves the finite numbers.
    """
    check_labels(problem, interventions)
    family = intervened(problem, process.damping, options)
    family.keep(family.start)
    baseline = _baseline(family, process)
    gathered: list[list[tuple[Tensor, Minimum]]] = [[] for _ in interventions]
    total = len(interventions) * len(candidates)
    for number, row in enumerate(candidates.tolist()):
        for place, intervention in enumerate(interventions):
            options.check()
            objective = family.objective(row, intervention.change(problem.n))
            tolerance = gradient_tolerance(objective.force(family.start), options.tolerance)
            found = minimise(objective.evaluate, family.start, iterations=process.iterations, tolerance=tolerance)
            gathered[place].append((family.query_logits(found.theta), found))
            options.progress((number * len(interventions) + place + 1) / total)
    return [_response(column, baseline) for column in gathered]


def _baseline(family: Family, process: LocalSearch) -> Tensor:
    """The query logits (m, C) to compare with; without an intervention there is no force, so all iterations are run."""
    if process.baseline == "factual":
        return family.query_logits(family.start)
    unchanged = family.objective(0, Change())
    found = minimise(unchanged.evaluate, family.start, iterations=process.iterations, tolerance=0.0)
    if not found.finite:
        raise InvalidInput("The search without intervention left the finite numbers; use the baseline `factual`, or a "
                           "damping.")
    return family.query_logits(found.theta)


def _response(column: list[tuple[Tensor, Minimum]], baseline: Tensor) -> Response:
    logits, minima = zip(*column, strict=True)
    device = baseline.device
    return Response(
        (Part(torch.stack(logits, 1), baseline),),
        torch.tensor([found.finite for found in minima], device=device),
        torch.tensor([found.gradient_norm for found in minima], dtype=torch.float64, device=device),
        {"iterations": max(found.iterations for found in minima),
         "evaluations": max(found.evaluations for found in minima)},
    )
