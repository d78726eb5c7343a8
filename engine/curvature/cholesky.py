r"""The inverse Hessian by Cholesky factorisation: (H + δI)⁻¹ to rounding error."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.curvature.softmax_hessian import SoftmaxHessian
from engine.curvature.solution import InverseHessian, Solution, measured

TOLERANCE = 1e-6
"""The relative residual that a factorisation has to meet."""


def solve(operator: SoftmaxHessian, rhs: Tensor) -> Solution:
    """Forward and back substitution with LLᵀ = H + δI; rhs (P, b), cost 2P² a column."""
    x = torch.cholesky_solve(rhs, operator.problem.cholesky(operator.damping))
    return measured(operator, x, rhs, {"factored": 1.0, "tolerance": TOLERANCE}, tolerance=TOLERANCE)


CHOLESKY = InverseHessian("cholesky", "Cholesky", "direct factorisation", solve, (SoftmaxHessian,), exact=True)
