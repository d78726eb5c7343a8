r"""The inverse Hessian by Cholesky factorisation: (H + δI)⁻¹ to rounding error."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from torch import Tensor

from engine.curvature.softmax_hessian import SoftmaxHessian
from engine.curvature.solution import InverseHessian, Rounding, Solution, measured
from engine.models.linear_solvers import by_factor

TOLERANCE = 1e-6
"""The relative residual that a factorisation has to meet."""


def solve(operator: SoftmaxHessian, rhs: Tensor) -> Solution:
    """Forward and back substitution with LLᵀ = H + δI, twice for what rounding left; rhs (P, b), 4P² a column."""
    factor = operator.problem.cholesky(operator.damping)
    x = by_factor(factor, rhs)
    solution = measured(operator, x, rhs, {"factored": 1.0, "tolerance": TOLERANCE}, tolerance=TOLERANCE)
    return replace(solution, rounding=Rounding.of(partial(by_factor, factor), rhs - operator @ x, x,
                                                  operator.diagonal()))


CHOLESKY = InverseHessian("cholesky", "Cholesky", "direct factorisation", solve, (SoftmaxHessian,), exact=True,
                          products=1)
