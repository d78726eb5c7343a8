r"""Any curvature as a dense matrix, and its inverse by factorisation: right to rounding where it is small enough."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.curvature.hessian import Hessian
from engine.curvature.operator import Operator
from engine.curvature.solution import InverseHessian, Solution

LIMIT = 4_000
"""Up to so many parameters the matrix is built (128 MB in float64) and factored."""


def dense(operator: Operator) -> Tensor:
    """A (P, P) in float64, made symmetric, by P products."""
    found = (operator @ torch.eye(operator.size, dtype=operator.dtype, device=operator.device)).double()
    return (found + found.T) / 2


def solve(operator: Operator, rhs: Tensor) -> Solution:
    """(H + δI)⁻¹ rhs by an LDLᵀ factorisation of the full matrix in float64; rhs (P, b).

    Also right where H + δI is indefinite: the response of a stationary branch with an invertible Hessian. H is kept
    on the problem for every damping. Raises `InvalidInput` above LIMIT parameters and where the matrix is singular.
    """
    if operator.size > LIMIT:
        raise InvalidInput(f"The exact local response needs the Hessian of {operator.size:,} parameters; select "
                           f"at most {LIMIT:,} of them, or use the estimator `cg`.")
    hessian = operator.memo("dense_hessian", lambda: dense(operator.damped(0.0)))
    damped = hessian + operator.damping * torch.eye(len(hessian), dtype=hessian.dtype, device=hessian.device)
    factored, pivots, info = torch.linalg.ldl_factor_ex(damped)
    if info.item():
        raise InvalidInput("The Hessian plus damping is singular; raise the damping or l2.")
    x = torch.linalg.ldl_solve(factored, pivots, rhs.double())
    fault = (damped @ x - rhs.double()).norm(dim=0) / rhs.double().norm(dim=0).clamp_min(1e-300)
    return Solution(x.to(rhs.dtype), fault, fault < 1e-6, {"factored": 1.0})


DENSE = InverseHessian("exact", "Dense factorisation", "direct factorisation", solve, (Hessian,), exact=True)
