r"""Any curvature as a dense matrix, and its inverse: right to rounding by factorisation where it is small enough; else,
of a positive definite one, by conjugate gradients to a relative residual of 1e-8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.values import figures
from engine.curvature.cg import solve as solved_by_cg
from engine.curvature.hessian import Hessian
from engine.curvature.operator import Operator
from engine.curvature.solution import InverseHessian, Rounding, Solution
from engine.models.linear_solvers import by_factor

LIMIT = 4_000
"""Up to so many parameters the matrix is built (128 MB in float64) and factored."""
TOLERANCE = 1e-6
"""The relative residual that a factorisation has to meet."""
BOUND, PRODUCTS = 1e-8, 5_000
"""The relative residual that conjugate gradients have to meet in float64, and the products that they may take."""


def dense(operator: Operator) -> Tensor:
    """A (P, P) in float64, made symmetric, by P products."""
    matrix = (operator @ torch.eye(operator.size, dtype=operator.dtype, device=operator.device)).double()
    return (matrix + matrix.T) / 2


def solve(operator: Operator, rhs: Tensor) -> Solution:
    """(H + δI)⁻¹ rhs by a factorisation of the full matrix in float64; rhs (P, b).

    It is Cholesky's, and LDLᵀ, at twice the time, where H + δI is indefinite. Then x solves the linear system all the
    same, but θ_D is no minimum of the objective, so that x is not how an optimum moves: info["negative_curvature"] says
    so, with the smallest eigenvalue of H. H is kept on the problem for every damping. Above LIMIT parameters `iterated`
    solves. Raises `InvalidInput` where the matrix is singular.
    """
    if operator.size > LIMIT:
        return iterated(operator, rhs)
    hessian = operator.memo("dense_hessian", lambda: dense(operator.damped(0.0)))
    damped = hessian + operator.damping * torch.eye(len(hessian), dtype=hessian.dtype, device=hessian.device)
    inverse, definite = _inverse(damped)
    x = inverse(rhs.double())
    off = rhs.double() - damped @ x
    rounding = Rounding.of(inverse, off, x, damped.diagonal())
    fault = off.norm(dim=0) / rhs.double().norm(dim=0).clamp_min(1e-300)
    negative = {"negative_curvature": 0.0} if definite else _negative_curvature(operator, hessian)
    facts = {"factored": 1.0, "tolerance": TOLERANCE, **negative}
    return Solution(x.to(rhs.dtype), fault, fault < TOLERANCE, facts, rounding)


def iterated(operator: Operator, rhs: Tensor) -> Solution:
    """(H + δI)⁻¹ rhs by conjugate gradients, each column to the relative residual BOUND, of an operator in float64.

    Raises `InvalidInput` for one in float32, and where H + δI is not positive definite: where an eigenvalue that a few
    Lanczos steps find is not above −δ, or a column meets negative curvature.
    """
    smallest = operator.smallest_eigenvalue()
    definite = operator.dtype == torch.float64 and smallest + operator.damping > 0
    solution = solved_by_cg(operator, rhs, tolerance=BOUND, iterations=PRODUCTS) if definite else None
    if solution is None or solution.info.get("negative_curvature"):
        raise InvalidInput(f"The exact local response needs the Hessian of {operator.size:,} parameters plus damping "
                           "to be positive definite, but its smallest eigenvalue is at most "
                           f"{figures(smallest + operator.damping, 2)}; raise the damping, select at most {LIMIT:,} of "
                           "them, or use the estimator `cg`.")
    return replace(solution, info={**solution.info, "smallest_eigenvalue": smallest})


def _inverse(damped: Tensor) -> tuple[Callable[[Tensor], Tensor], bool]:
    """(H + δI)⁻¹ as a map of columns, and whether the matrix is positive definite."""
    factor, failed = torch.linalg.cholesky_ex(damped)
    if not failed.item():
        return partial(by_factor, factor), True
    factored, pivots, failed = torch.linalg.ldl_factor_ex(damped)
    if failed.item():
        raise InvalidInput("The Hessian plus damping is singular; raise the damping or l2.")
    return partial(torch.linalg.ldl_solve, factored, pivots), False


def _negative_curvature(operator: Operator, hessian: Tensor) -> dict[str, float]:
    """Whether H + δI has a negative eigenvalue beyond rounding, by the eigenvalues of H."""
    values = operator.memo("dense_eigenvalues", lambda: torch.linalg.eigvalsh(hessian))
    rounding = 10 * len(values) ** 0.5 * torch.finfo(operator.dtype).eps * values.abs().max().item()
    smallest = values[0].item()
    return {"negative_curvature": float(smallest + operator.damping < -rounding), "smallest_eigenvalue": smallest}


DENSE = InverseHessian("exact", "Dense factorisation", "direct factorisation", solve, (Hessian,), exact=True,
                       products=1)
