r"""Linear responses of a network's optimum: δB(q) = −∇B(q)ᵀ (H + damping·I)⁻¹ g_k (paper, Eq. 8 and 9).

g_k is what the intervention adds to the gradient of the objective at θ_D:

    upweight(α), infinitesimal   α ∇ℓ_k,  ∇ℓ_k
    remove, over n−1 or n        (∇L_data − ∇ℓ_k)/(n−1),  −∇ℓ_k/n
    relabel(y')                  (∇ℓ(x_k, y') − ∇ℓ_k)/n

θ_D need not be a stationary point: the drift that re-optimising would cause without any intervention,
−H⁻¹∇L_D(θ_D), is common to all candidates and is left out, so that a response is that of the intervention alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.network.products import hessian_product
from engine.curvature.solution import InverseHessian, Solution
from engine.exact.response import GradientPart, Response
from engine.gradients.per_example import loss_gradients
from engine.gradients.products import products_with

DENSE_LIMIT = 4_000
"""Up to so many parameters the Hessian is built (128 MB in float64) and factored."""


def linear_responses(solver: InverseHessian, problem, interventions, process, candidates: Tensor,
                     options: Options) -> list[Response]:
    """One linear response an intervention; the solve is shared by all behaviors, and by upweighting at any α."""
    damping = process.damping
    gradients = loss_gradients(problem, candidates, budget=options.budget // 4)
    cache: dict[str, tuple[Tensor, Solution]] = {}
    responses = []
    for place, intervention in enumerate(interventions):
        scale = getattr(intervention, "alpha", 1.0)
        key = "derivative" if intervention.kind in ("upweight", "infinitesimal") else intervention.model_dump_json()
        if key not in cache:
            force = FORCES[intervention.kind](problem, intervention, candidates, gradients)
            solution = solver.solve(problem, force.T, damping, options)
            cache[key] = (solution.x.T.contiguous(), solution)
        directions, solution = cache[key]
        responses.append(Response((_part(problem, directions, -scale),), solution.converged, solution.residual,
                                  dict(solution.info)))
        options.progress((place + 1) / len(interventions))
    return responses


def _part(problem, directions: Tensor, scale: float) -> GradientPart:
    def products(signal: Tensor) -> Tensor:
        return scale * products_with(problem, problem.queries, signal, directions)

    return GradientPart(problem.query_logits, products, len(directions))


def _remove(problem, intervention, rows: Tensor, gradients: Tensor) -> Tensor:
    if intervention.normalization == "n":
        return -gradients / problem.n
    data_gradient = problem.factual[1] - problem.l2 * problem.theta
    return (data_gradient - gradients) / (problem.n - 1)


def _relabel(problem, intervention, rows: Tensor, gradients: Tensor) -> Tensor:
    problem.check_label(intervention.label)
    relabelled = problem.with_labels(rows, intervention.label)
    return (loss_gradients(relabelled, rows) - gradients) / problem.n


FORCES = {
    "upweight": lambda problem, intervention, rows, gradients: gradients,
    "infinitesimal": lambda problem, intervention, rows, gradients: gradients,
    "remove": _remove,
    "relabel": _relabel,
}


def dense_solve(problem, rhs: Tensor, damping: float, options=None) -> Solution:
    """(H + damping·I)⁻¹ rhs by an LDLᵀ factorisation of the full Hessian in float64; rhs (P, b).

    Also right where H + damping·I is indefinite: the response of a stationary branch with an invertible Hessian.
    Raises `InvalidInput` above DENSE_LIMIT parameters and where the matrix is singular.
    """
    if problem.parameters > DENSE_LIMIT:
        raise InvalidInput(f"The exact local response needs the Hessian of {problem.parameters:,} parameters; select "
                           f"at most {DENSE_LIMIT:,} of them, or use the estimator `cg`.")
    hessian = problem.memo("dense_hessian", lambda: _dense_hessian(problem, options))
    damped = hessian + damping * torch.eye(len(hessian), dtype=hessian.dtype, device=hessian.device)
    factored, pivots, info = torch.linalg.ldl_factor_ex(damped)
    if info.item():
        raise InvalidInput("The Hessian plus damping is singular; raise the damping or l2.")
    x = torch.linalg.ldl_solve(factored, pivots, rhs.double())
    fault = (damped @ x - rhs.double()).norm(dim=0) / rhs.double().norm(dim=0).clamp_min(1e-300)
    return Solution(x.to(rhs.dtype), fault, fault < 1e-6, {"factored": 1})


def _dense_hessian(problem, options) -> Tensor:
    identity = torch.eye(problem.parameters, dtype=problem.theta.dtype, device=problem.device)
    found = hessian_product(problem, identity, options=options).double()
    return (found + found.T) / 2


DENSE = InverseHessian("exact", "Dense factorisation", "direct factorisation", dense_solve, exact=True)
