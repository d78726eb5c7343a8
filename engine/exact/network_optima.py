r"""Re-optimisation of a network: an optimum of every intervened objective, to a stated gradient norm, in float64.

A network has many optima, and θ_D, where stochastic gradient descent stopped, is in general none of them. Two searches
from θ_D can end in two basins, and what lies between them says nothing of the intervention. So one search goes from
θ_D to the optimum θ* of the factual objective F, and every candidate starts there:

    θ*   = where `engine.exact.newton_cg.descend` leads from θ_D on F
    θ_k  = where it leads from θ* on F_k

For a small change θ_k is the optimum of F_k on the branch through θ*, which moves by −H(θ*)⁻¹∇ℓ(z_k; θ*) to first
order. The baseline `factual` compares with θ_D and `reoptimized` with θ*: the two differ by one number a query.

F may have no optimum within reach: without a penalty the loss of a model that fits its data falls forever, and a
network of ReLUs may stop at a kink. Then candidates get few passes, and all are flagged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.exact.intervened import Changes, ModuleFamily, Objective, check_labels
from engine.exact.lbfgs import Minimum
from engine.exact.newton_cg import FORCING, PRODUCTS, descend
from engine.exact.tolerance import SMALLEST_TOLERANCE, gradient_tolerance
from engine.gradients.response import Response
from engine.models.linear_solvers import Linear, by_factor, conjugate_gradients
from engine.problems import ModuleProblem
from engine.question.change import Change
from engine.question.interventions import Intervention
from engine.question.processes import Reoptimize

AIM = 0.01
"""A search aims at this fraction of its tolerance: Newton's last step often gets that far."""
ORIGIN_PASSES, PASSES, HOPELESS_PASSES = 5_000, 2_000, 40
"""Over the data: for θ*, for a candidate, and for a candidate where there is no θ*."""
SETTLED = 1e-3
"""How long Newton's step from an optimum may be, relative to θ*."""
DENSE = 1_500
"""Parameters up to which the Hessian at θ* is factored, to precondition every candidate's equations."""


@dataclass(frozen=True)
class SearchStart:
    """θ*: where the search without intervention ended; reached: whether that is an optimum. factor: L (P, P) with
    LLᵀ = ∇²F(θ*), where it is small and positive definite."""

    minimum: Minimum
    reached: bool
    factor: Tensor | None

    @property
    def precondition(self) -> Linear | None:
        """V (P, r) -> ∇²F(θ*)⁻¹ V."""
        factor = self.factor
        return None if factor is None else lambda vectors: by_factor(factor, vectors)


def network_optima(problem: ModuleProblem, interventions: Sequence[Intervention], process: Reoptimize,
                   candidates: Tensor, options: Options) -> list[Response]:
    """One response an intervention, a column for each candidate, as `optima_of_groups` finds it."""
    return optima_of_groups(problem, interventions, process, candidates.split(1), options)


def optima_of_groups(problem: ModuleProblem, interventions: Sequence[Intervention], process: Reoptimize,
                     groups: Sequence[Tensor], options: Options) -> list[Response]:
    """One response an intervention, a column for each group (b_j,) of training examples.

    `converged`: ‖∇F_k‖ ≤ `gradient_tolerance`, of the group and, for the baseline `reoptimized`, of θ* as well;
    `residual`: ‖∇F_k‖ where the search ended. A saddle, which a large change such as a group relabelled can lead to, is
    left, or does not count: `newton_cg.descend` says how it is told from a minimum, within 200 products with the
    curvature.

    Raises `InvalidInput` for a relabelling to a class that does not exist, and for a model with an operation that
    cannot be differentiated twice.
    """
    check_labels(problem, interventions)
    family = ModuleFamily(problem, process.damping, options)
    origin = origin_of(family)
    start = origin.minimum.theta
    family.keep(start)
    changes = family.changes(family.start if process.baseline == "factual" else start)
    allowed = 0.0 if process.baseline == "factual" else origin.minimum.gradient_norm
    columns = family.solved(interventions, groups, problem.n, options,
                            lambda objective: _optimum(family, objective, origin, changes, allowed))
    return [_response(column, changes, origin) for column in columns]


@dataclass(frozen=True)
class _Optimum:
    change: tuple[Tensor, Tensor]
    minimum: Minimum
    converged: bool


def _optimum(family: ModuleFamily, objective: Objective, origin: SearchStart, changes: Changes, allowed: float
             ) -> _Optimum:
    """allowed: the gradient norm of what it is compared with, which has to meet the candidate's tolerance too."""
    start = origin.minimum.theta
    tolerance = gradient_tolerance(objective.force(start), family.options.tolerance)
    minimum = descend(objective.evaluate, lambda theta: family.curvature(objective, theta), start,
                      tolerance=max(AIM * tolerance, SMALLEST_TOLERANCE),
                      passes=PASSES if origin.reached else HOPELESS_PASSES, precondition=origin.precondition)
    return _Optimum(changes.to(minimum.theta), minimum,
                    origin.reached and not minimum.saddle and max(minimum.gradient_norm, allowed) <= tolerance)


def origin_of(family: ModuleFamily) -> SearchStart:
    """θ*, kept on the problem for one damping and tolerance."""
    tolerance = family.options.tolerance
    return family.problem.memo("reoptimised without intervention", lambda: _searched(family, tolerance),
                               (family.damping, tolerance))


def _searched(family: ModuleFamily, tolerance: float) -> SearchStart:
    objective = family.objective([0], Change())
    minimum = descend(objective.evaluate, lambda theta: family.curvature(objective, theta), family.start,
                      tolerance=SMALLEST_TOLERANCE, passes=ORIGIN_PASSES)
    reached = minimum.gradient_norm <= tolerance and not minimum.saddle and _settled(family, objective, minimum)
    return SearchStart(minimum, reached, _factor(family, objective, minimum.theta) if reached else None)


def _settled(family: ModuleFamily, objective: Objective, end: Minimum) -> bool:
    """Whether Newton's step leads nowhere: on a slope without end it is long, however small the gradient."""
    solved = conjugate_gradients(family.curvature(objective, end.theta), end.gradient[:, None], tolerance=FORCING,
                                 limit=PRODUCTS)
    return solved.x.norm().item() <= SETTLED * end.theta.norm().item()


def _factor(family: ModuleFamily, objective: Objective, theta: Tensor) -> Tensor | None:
    if len(theta) > DENSE:
        return None
    factor, info = torch.linalg.cholesky_ex(family.hessian(objective, theta))
    return None if info.item() else factor


def _response(column: list[_Optimum], changes: Changes, origin: SearchStart) -> Response:
    device = changes.baseline.device
    return Response(
        (changes.term([one.change for one in column]),),
        torch.tensor([one.converged for one in column], device=device),
        torch.tensor([one.minimum.gradient_norm for one in column], dtype=torch.float64, device=device),
        {"double_passes": sum(one.minimum.evaluations for one in column),
         "gradient_norm_without_change": origin.minimum.gradient_norm},
    )
