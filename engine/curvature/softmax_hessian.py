r"""The Hessian of softmax regression in closed form, on vectors whose entries are those of W (D, C), row by row.

    (H V)_jc = (1/n) Σ_i x_ij p_ic (u_ic − Σ_c' p_ic' u_ic') + λ_j V_jc,   u_i = Vᵀ x_i

The logits are linear in W, so that it is the Gauss–Newton matrix too. H maps matrices with equal columns (class means)
and matrices whose columns sum to zero each to their own kind, and acts on the first as diag(λ_j).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.class_blocks import class_blocks_inverse
from engine.curvature.eigenpairs import BLOCKS, OVERSAMPLING, Eigenpairs, by_blocks, largest
from engine.curvature.model import CurvedSoftmax
from engine.curvature.operator import Linear, Operator
from engine.models import softmax

DENSE_PRODUCT = 2_000
"""Up to so many parameters D·C a product with the dense Hessian (32 MB) beats a pass over the data."""
SINGLE_TOLERANCE = 1e-3
"""The least tolerance that float32 reaches safely."""


class SoftmaxHessian(Operator):
    """H + δI at θ_D of a `SoftmaxProblem`, in float64, or in float32 where `dtype` says so.

    Matrix-free, except where the Hessian is so small that its dense product is cheaper than a pass over
    the n training examples: D·C ≤ min(2n, DENSE_PRODUCT).
    """

    convex: ClassVar = True
    problem: CurvedSoftmax

    def __init__(self, problem: CurvedSoftmax, damping: float = 0.0, options: Options | None = None,
                 rows: Tensor | None = None, dtype: torch.dtype = torch.float64) -> None:
        super().__init__(problem, damping, options, rows)
        self._dtype = dtype

    @property
    def dtype(self) -> torch.dtype:
        return self._dtype

    def damped(self, damping: float) -> SoftmaxHessian:
        return SoftmaxHessian(self.problem, damping, self.options, self.rows, self.dtype)

    def batch(self, rows: Tensor) -> SoftmaxHessian:
        return SoftmaxHessian(self.problem, self.damping, self.options, rows, self.dtype)

    def matmul(self, vectors: Tensor) -> Tensor:
        self.options.check()
        return self._product(vectors).add_(vectors, alpha=self.damping)

    @cached_property
    def _product(self) -> Callable[[Tensor], Tensor]:
        problem = self.problem
        if self.rows is None and problem.parameters <= min(2 * problem.n, DENSE_PRODUCT):
            dense = problem.hessian.to(self.dtype)
            return lambda vectors: dense @ vectors
        rows = slice(None) if self.rows is None else self.rows
        x, p, penalty = problem.x[rows].to(self.dtype), problem.probabilities[rows], problem.penalty.to(self.dtype)
        if self.dtype != p.dtype:
            # float32 probabilities below 1e-38 would be denormal numbers, which are very slow to multiply
            p = torch.where(p < 1e-20, 0.0, p).to(self.dtype)
        shape = problem.dimension, problem.classes, -1
        return lambda vectors: softmax.hessian_vector(vectors.reshape(shape), p, x, penalty).reshape(vectors.shape)

    def diagonal(self) -> Tensor:
        """diag(H) + δ, (P,)."""
        problem, rows = self.problem, slice(None) if self.rows is None else self.rows
        x, p = problem.x[rows], problem.probabilities[rows]
        diagonal = x.square().T @ (p * (1 - p)) / len(x) + (problem.penalty + self.damping)[:, None]
        return diagonal.flatten().to(self.dtype)

    def decoupled(self, rhs: Tensor) -> tuple[Tensor, Tensor]:
        """The class mean of a column is divided by λ_j + δ; there the intercept has a unit more, as in
        `softmax.factor`. What is left of a column that was nothing else is rounding, and taken as zero."""
        problem = self.problem
        shaped = rhs.reshape(problem.dimension, problem.classes, -1)
        mean = shaped.mean(1, keepdim=True)
        rest = (shaped - mean).reshape(rhs.shape)
        rest = torch.where(rest.norm(dim=0) > 1e-15 * rhs.norm(dim=0), rest, 0.0)
        constant = problem.penalty + self.damping + (problem.penalty == 0)
        return (mean / constant[:, None, None]).expand(shaped.shape).reshape(rhs.shape), rest

    def for_tolerance(self, tolerance: float) -> SoftmaxHessian:
        if tolerance < SINGLE_TOLERANCE:
            return self
        return SoftmaxHessian(self.problem, self.damping, self.options, self.rows, torch.float32)

    def preconditioner(self) -> Linear:
        """Block Jacobi by classes, on vectors whose class means are zero; the last δ's is kept on the problem."""
        problem, damping, dtype = self.problem, self.damping, self.dtype
        inverse = self.memo("cg", lambda: class_blocks_inverse(problem, damping).to(dtype), (damping, dtype))

        def apply(residual: Tensor) -> Tensor:
            r = residual.reshape(problem.dimension, problem.classes, -1)
            if inverse.ndim == 2:
                z = r * inverse[..., None]
            else:
                z = torch.bmm(inverse, r.transpose(0, 1)).transpose(0, 1).contiguous()
            # the blocks bring class means back in, where a small residual would be a large error
            return (z - z.mean(1, keepdim=True)).reshape(residual.shape)

        return apply

    def eigenpairs(self, rank: int) -> Eigenpairs:
        """By a full decomposition where P is within reach of the Krylov basis, else by block Lanczos.

        Raises `InvalidInput` for a rank near P where the dense Hessian is too large to hold.
        """
        return self.memo(f"arnoldi:{rank}", lambda: self._eigenpairs(rank))

    def _eigenpairs(self, rank: int) -> Eigenpairs:
        width = rank + OVERSAMPLING
        if self.size <= 2 * BLOCKS * width:
            values, vectors = torch.linalg.eigh(self.problem.hessian)
            return largest(values, vectors, rank)
        generator = torch.Generator().manual_seed(0)
        start = torch.randn(self.size, width, generator=generator, dtype=torch.float64).to(self.device)
        return by_blocks(self.damped(0.0).matmul, start, rank)
