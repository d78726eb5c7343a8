"""What an inverse-Hessian solver returns, and how its residual is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from engine.models import softmax

DENSE_PRODUCT = 2_000
"""Up to so many parameters D·C a product with the dense Hessian (32 MB) beats a pass over the data."""


@dataclass(frozen=True)
class Solution:
    """x ≈ (H + damping·I)⁻¹ rhs, shape (D, C, b), with the relative residual of every column.

    residual (b,): ‖(H + damping·I)x − rhs‖ / ‖rhs‖. converged (b,): whether the solver met its own
    tolerance, or, for a method without one, whether the result is finite. info: its settings and counts.
    """

    x: Tensor
    residual: Tensor
    converged: Tensor
    info: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class InverseHessian:
    """A named solver: solve(problem, rhs (D, C, b), damping, options) -> Solution."""

    name: str
    title: str
    source: str
    solve: Callable[..., Solution]
    exact: bool = False


def hessian_operator(problem, damping: float, dtype: torch.dtype = torch.float64) -> Callable[[Tensor], Tensor]:
    """V (D, C, b) → (H + damping·I)V at θ_D in the given precision.

    Matrix-free, except where the Hessian is so small that its dense product is cheaper than a pass over
    the n training examples: D·C ≤ min(2n, DENSE_PRODUCT).
    """
    if problem.parameters <= min(2 * problem.n, DENSE_PRODUCT):
        dense = problem.hessian.to(dtype)
        return lambda v: (dense @ v.reshape(len(dense), -1)).view(v.shape).add_(v, alpha=damping)
    p, x, penalty = problem.probabilities, problem.x.to(dtype), problem.penalty.to(dtype)
    if dtype != p.dtype:
        # float32 probabilities below 1e-38 would be denormal numbers, which are very slow to multiply
        p = torch.where(p < 1e-20, 0.0, p).to(dtype)
    return lambda v: softmax.hessian_vector(v, p, x, penalty).add_(v, alpha=damping)


def hessian_product(problem, vectors: Tensor, damping: float) -> Tensor:
    """(H + damping·I)V at θ_D for V (D, C, b), in float64."""
    return hessian_operator(problem, damping)(vectors)


def relative_residual(problem, x: Tensor, rhs: Tensor, damping: float) -> Tensor:
    """‖(H + damping·I)x − rhs‖ / ‖rhs‖ for each column, (b,); 0 for a zero column solved by zero."""
    fault = (hessian_product(problem, x, damping) - rhs).flatten(0, 1).norm(dim=0)
    return fault / rhs.flatten(0, 1).norm(dim=0).clamp_min(torch.finfo(rhs.dtype).tiny)
