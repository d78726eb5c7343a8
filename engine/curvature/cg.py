r"""(C + δI)⁻¹ by preconditioned conjugate gradients, truncated at a relative residual.

What an operator knows in closed form is solved before the iterations begin, and they run in the least precision that
reaches the tolerance. For softmax regression that is the class means, in float32, with one preconditioning block a
class.

The Hessian of a network need not be positive definite: a column that meets a direction d with dᵀAd ≤ 0 stops at the
iterate before it (Steihaug 1983) and counts as not converged. The Gauss–Newton matrix is positive semidefinite: with it
instead of H (`cg_gauss_newton`) every column can converge. A network has no preconditioner: on the paper's CNN (256
CIFAR-10 images, damping 0.1 to 0.001) EK-FAC's inverse saved no iterations once the model was trained, and met
negative curvature earlier, at worse iterates.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from engine.basics.settings import Settings, setting
from engine.basics.values import Count, Number
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.hessian import Hessian
from engine.curvature.operator import Linear, Operator
from engine.curvature.softmax_hessian import SoftmaxHessian
from engine.curvature.solution import InverseHessian, Solution, column_blocks, measured
from engine.models.linear_solvers import Iterate, conjugate_gradients

TOLERANCE = 1e-2
"""For softmax regression on digits and FashionMNIST a Kendall τ of 0.95 to 0.99 with the exact ranking, after 3 to 8
iterations on average; 1e-3 gives 0.99 and more, 1e-1 gives 0.82 to 0.94."""
ITERATIONS = 100
MATRICES = 10
"""Matrices (P, b) that the iterations hold at once."""
AIM = 0.9
"""The recurrence's residual is driven below AIM·tolerance, so that rounding keeps the true one below tolerance."""


class CgSettings(Settings):
    """Settings of conjugate gradients."""

    tolerance: Number = setting(
        TOLERANCE, "Relative residual at which a column stops.", "this program", "more iterations if it is smaller",
        gt=0, lt=1)
    iterations: Count = setting(
        ITERATIONS, "The largest number of products with the curvature of all examples.", "this program",
        "work in proportion, up to the tolerance", ge=1, le=100_000)

    @property
    def effort(self) -> float:
        return self.iterations / ITERATIONS


def solve(operator: Operator, rhs: Tensor, *, tolerance: float = TOLERANCE, iterations: int = ITERATIONS) -> Solution:
    """Conjugate gradients (Hestenes & Stiefel 1952; Martens 2010) from x = 0, rhs (P, b).

    Each column stops at the relative residual `tolerance`, after `iterations` products with the curvature of all n
    examples, or at negative curvature; columns are solved together, as many as fit in half of the memory budget.
    info: the largest and mean number of iterations, and, where the objective is not convex, how many columns met
    negative curvature. Raises `InvalidInput` where a convex objective's Hessian is not positive definite.
    """
    known, rest = operator.decoupled(rhs)
    result = _iterated(operator.for_tolerance(tolerance), rest, tolerance, iterations)
    x = result.x.add_(known)
    stopped = (result.residual > AIM * tolerance) & (result.iterations < iterations)
    counted = result.iterations.double()
    info = {"tolerance": tolerance, "iterations": counted.max().item(), "mean_iterations": counted.mean().item()}
    if not operator.convex:
        info["columns_with_negative_curvature"] = float(stopped.sum())
    solution = measured(operator, x, rhs, info, tolerance=tolerance, negative=bool(stopped.any()))
    return replace(solution, converged=solution.converged & (~stopped | operator.convex))


def _iterated(operator: Operator, rhs: Tensor, tolerance: float, limit: int) -> Iterate:
    """All columns, a block at a time, in the operator's precision."""
    precondition = operator.preconditioner()
    x, residuals, counts = torch.empty_like(rhs), [], []
    for columns in column_blocks(operator, rhs.shape[1], MATRICES):
        block, scale = _scaled(rhs[:, columns], operator.dtype)
        solved = conjugate_gradients(_counted(operator, columns, rhs.shape[1], limit), block,
                                     tolerance=AIM * tolerance, limit=limit, precondition=precondition)
        x[:, columns] = solved.x if scale is None else solved.x.to(rhs.dtype) * scale
        residuals.append(solved.residual)
        counts.append(solved.iterations)
    return Iterate(x, torch.cat(residuals), torch.cat(counts))


def _scaled(rhs: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """rhs in a precision, with unit columns where it is a lower one, and their lengths: a confident example's
    gradient, squared, would underflow in float32."""
    if rhs.dtype == dtype:
        return rhs, None
    scale = rhs.norm(dim=0)
    return (rhs / torch.where(scale > 0, scale, torch.inf)).to(dtype), scale


def _counted(operator: Operator, block: slice, columns: int, limit: int) -> Linear:
    """The product with the operator, which tells how far the iterations on the columns `block` can be."""
    count = 0

    def apply(vectors: Tensor) -> Tensor:
        nonlocal count
        count += 1
        operator.options.progress((block.start + (block.stop - block.start) * count / limit) / columns)
        return operator @ vectors

    return apply


CG = InverseHessian("cg", "Conjugate gradients", "Hestenes & Stiefel 1952; Martens 2010", solve,
                    (SoftmaxHessian, Hessian), iterates=True, products=ITERATIONS, settings=CgSettings,
                    known=("Influence function (CG)", "Martens 2010"))
GAUSS_NEWTON_CG = InverseHessian("cg_gauss_newton", "Gauss–Newton CG", "Schraudolph 2002; Martens 2010", solve,
                                 (GaussNewton,), iterates=True, products=ITERATIONS, settings=CgSettings,
                                 known=("Influence function (Gauss–Newton CG)", "Martens 2010"))
