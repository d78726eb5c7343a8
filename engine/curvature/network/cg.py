r"""The inverse Hessian by conjugate gradients, truncated at a relative residual.

The Hessian of a network need not be positive definite: a column that meets a direction d with
dᵀ(H + damping·I)d ≤ 0 stops at the iterate before it (Steihaug 1983) and counts as not converged. The Gauss–Newton
matrix is positive semidefinite: with it in place of H (`cg_gauss_newton`) every column can converge. There is no
preconditioner: on the paper's CNN (256 CIFAR-10 images, damping 0.1 to 0.001) EK-FAC's inverse saved no iterations
once the model was trained, and met negative curvature earlier, at worse iterates.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.network.measure import measured
from engine.curvature.network.products import Curvature, column_blocks
from engine.curvature.solution import InverseHessian, Solution
from engine.models.linear_solvers import Iterate, Linear, conjugate_gradients

TOLERANCE = 1e-2
ITERATIONS = 100
MATRICES = 10
"""Matrices (P, b) that the iterations hold at once."""
AIM = 0.9
"""The recurrence's residual is driven below AIM·tolerance, so that rounding keeps the true one below tolerance."""


def solve(problem, rhs: Tensor, damping: float, options: Options | None = None, *, tolerance: float = TOLERANCE,
          iterations: int = ITERATIONS, gauss_newton: bool = False) -> Solution:
    """Conjugate gradients (Hestenes & Stiefel 1952; Martens 2010) from x = 0, rhs (P, b).

    Each column stops at the relative residual `tolerance`, after `iterations` products with the curvature of all
    n examples, or at negative curvature; columns are solved together, as many as fit in half of options.budget.
    gauss_newton: with the Gauss–Newton matrix in place of the Hessian. info: the largest and mean number of
    iterations, and how many columns met negative curvature.
    """
    options = Options() if options is None else options
    result = _iterated(problem, rhs, damping, options, tolerance, iterations, gauss_newton)
    negative = (result.residual > AIM * tolerance) & (result.iterations < iterations)
    counted = result.iterations.double()
    info = {"tolerance": tolerance, "iterations": counted.max().item(), "mean_iterations": counted.mean().item(),
            "columns_with_negative_curvature": float(negative.sum())}
    solution = measured(problem, result.x, rhs, damping, options, info, gauss_newton=gauss_newton,
                        tolerance=tolerance, negative=bool(negative.any()))
    return Solution(solution.x, solution.residual, solution.converged & ~negative, solution.info)


def _iterated(problem, rhs: Tensor, damping: float, options: Options, tolerance: float, limit: int,
              gauss_newton: bool) -> Iterate:
    """All columns, a block at a time."""
    curvature = Curvature(problem, None, gauss_newton, options)
    x, residuals, counts = torch.empty_like(rhs), [], []
    for part in column_blocks(problem, rhs.shape[1], MATRICES, options):
        block = conjugate_gradients(_counted(curvature, damping, options, part, rhs.shape[1], limit), rhs[:, part],
                                    tolerance=AIM * tolerance, limit=limit)
        x[:, part] = block.x
        residuals.append(block.residual)
        counts.append(block.iterations)
    return Iterate(x, torch.cat(residuals), torch.cat(counts))


def _counted(curvature: Curvature, damping: float, options: Options, part: slice, columns: int, limit: int) -> Linear:
    """The product with curvature + damping·I, which tells how far the iterations on the columns `part` can be."""
    count = 0

    def apply(vectors: Tensor) -> Tensor:
        nonlocal count
        count += 1
        options.progress((part.start + (part.stop - part.start) * count / limit) / columns)
        return curvature(vectors, damping)

    return apply


CG = InverseHessian("cg", "Conjugate gradients", "Hestenes & Stiefel 1952; Martens 2010", solve)
GAUSS_NEWTON_CG = InverseHessian("cg_gauss_newton", "Gauss–Newton CG", "Schraudolph 2002; Martens 2010",
                                 partial(solve, gauss_newton=True))
