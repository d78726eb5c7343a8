r"""Block Jacobi for the Hessian of softmax regression: one block a class, the coupling between classes left out.

    H_cc = (1/n) Σ_i p_ic (1 − p_ic) x_i x_iᵀ + diag(λ_j) + δI

Where the C blocks are too large to hold, their diagonals are used (Jacobi).
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.curvature.model import CurvedSoftmax

ENTRIES = 1 << 27
"""Above so many entries C·D² (1 GiB in float64) the diagonal stands for the blocks."""


def class_blocks_inverse(problem: CurvedSoftmax, damping: float) -> Tensor:
    """The inverse blocks (C, D, D), or the inverse diagonal (D, C) where they would be too large."""
    small = problem.dimension**2 * problem.classes <= ENTRIES
    return block_inverses(problem, damping) if small else diagonal_inverse(problem, damping)


def block_inverses(problem: CurvedSoftmax, damping: float) -> Tensor:
    """H_cc⁻¹ of every class, (C, D, D). Raises `InvalidInput` if a block is not positive definite."""
    ridge = (problem.penalty + damping).clamp_min(1e-10)
    inverses = problem.x.new_empty(problem.classes, problem.dimension, problem.dimension)
    for inverse, p in zip(inverses, problem.probabilities.T, strict=True):
        block = problem.x.T @ (problem.x * (p * (1 - p) / problem.n)[:, None])
        block.diagonal().add_(ridge)
        factored, info = torch.linalg.cholesky_ex(block)
        if info.item():
            raise InvalidInput("The Hessian is not positive definite; use an l2 or a damping above zero.")
        torch.cholesky_inverse(factored, out=inverse)
    return inverses


def diagonal_inverse(problem: CurvedSoftmax, damping: float) -> Tensor:
    """1 / diag(H_cc) of every class c, (D, C)."""
    p = problem.probabilities
    diagonal = problem.x.square().T @ (p * (1 - p)) / problem.n
    return 1.0 / (diagonal + (problem.penalty + damping).clamp_min(1e-10)[:, None])
