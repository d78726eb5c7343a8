r"""(H + δI)⁻¹ of softmax regression as a matrix by LU, whether or not there is one: as the authors' code has it.

With an intercept that is not penalised, H maps the direction that raises every class's intercept alike to zero, so
that without damping no inverse exists. LU then divides by a pivot that is rounding alone: entries of the matrix are of
the order of 10¹⁶, and what is left of them in x is rounding, which another machine rounds otherwise; none of it need
be finite. The residual says so. `cholesky` fixes the direction and has the well-defined answer. This one is in no
list of solvers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.curvature.softmax_hessian import SoftmaxHessian
from engine.curvature.solution import InverseHessian, Solution, measured

TOLERANCE = 1e-6
"""The relative residual below which it is an inverse."""


def solve(operator: SoftmaxHessian, rhs: Tensor) -> Solution:
    """x = (H + δI)⁻¹ rhs, rhs (P, b); a column is converged where x solves the system, which it need not.

    Raises `InvalidInput` where the dense Hessian is too large to hold.
    """
    inverse = operator.memo("plain_inverse", lambda: _inverse(operator), (operator.damping,))
    return measured(operator, inverse @ rhs, rhs, {"factored": 1.0, "tolerance": TOLERANCE}, tolerance=TOLERANCE)


def _inverse(operator: SoftmaxHessian) -> Tensor:
    dense = operator.problem.hessian.clone()
    dense.diagonal().add_(operator.damping)
    return torch.linalg.inv_ex(dense).inverse


PLAIN_INVERSE = InverseHessian("plain_inverse", "Plain inverse", "code of the paper", solve, (SoftmaxHessian,),
                               products=1)
