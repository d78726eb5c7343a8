r"""Preconditioners for the Hessian of an intervened objective, all applied in float32.

Candidate k's objective differs from the factual one in the curvature along x_k: with H the factual
Hessian and S(p) = diag(p) − p pᵀ, to first order

    ∇²F_k(W) ≈ H + x_k x_kᵀ ⊗ N,   N = (a/n + β) S(p_W) − S(p_D)/n,

where the first term is z_k's weight in the new objective and the second takes its old one out of H.
N has rank C − 1. With Z = H⁻¹(x_k ⊗ I_C) and M = (x_k ⊗ I_C)ᵀ Z, Woodbury's identity gives

    (H + x xᵀ ⊗ N)⁻¹ = H⁻¹ − Z K Zᵀ,   K = N (I + M N)⁻¹,

which needs no inverse of the singular N. For removal N = −S(p_D)/n: H without z_k, always definite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

Solve = Callable[[Tensor], Tensor]
FEW = 16


@dataclass(frozen=True)
class DenseInverse:
    """R (D, C, b) → H⁻¹R by one product with the explicit inverse of H (D·C, D·C)."""

    inverse: Tensor
    coarse: ClassVar[bool] = False

    def __call__(self, r: Tensor) -> Tensor:
        flat = r.reshape(len(self.inverse), -1)
        # The same symmetric matrix by rows or by columns: a CPU multiplies few vectors up to ten times faster by
        # rows, many a tenth faster by columns.
        product = self.inverse @ flat.T.contiguous().T if flat.shape[1] < FEW else self.inverse.mT @ flat
        return product.reshape(r.shape)


@dataclass(frozen=True)
class BlockInverse:
    """R (D, C, b) → blockdiag(H_cc)⁻¹R, with the inverse blocks (C, D, D)."""

    blocks: Tensor
    coarse: ClassVar[bool] = True

    def __call__(self, r: Tensor) -> Tensor:
        return torch.einsum("cij,jcb->icb", self.blocks, r)


def dense_inverse(factor: Tensor) -> DenseInverse:
    """The float32 inverse of H (D·C, D·C), from its Cholesky factor."""
    inverse = factor.mT.float().mT  # by columns, as LAPACK overwrites it
    torch.cholesky_inverse(inverse, out=inverse)
    return DenseInverse(inverse.mT)


def block_inverse(probabilities: Tensor, x: Tensor, l2: Tensor) -> BlockInverse:
    """One D × D block a class, in float32, for models too large for a dense Hessian."""
    ridge = torch.diag(torch.where(l2 > 0, l2, torch.full_like(l2, 1e-8)))
    inverses = []
    for p in probabilities.T:
        block = x.T @ (x * (p * (1 - p) / len(x))[:, None]) + ridge
        inverses.append(torch.cholesky_inverse(torch.linalg.cholesky(block)).float())
    return BlockInverse(torch.stack(inverses))


Inverse = DenseInverse | BlockInverse
"""Of the factual Hessian; `coarse` where it leaves out so much that it is no inverse by itself."""


@dataclass(frozen=True)
class CandidateTerms:
    """Z (b, D·C, C) and M (b, C, C) of a batch of candidates, float32.

    probabilities: the candidates' factual p_D (b, C), in any precision; n: the size of the training set.
    """

    z: Tensor
    gram: Tensor
    probabilities: Tensor
    n: int

    @classmethod
    def of(cls, solve: Solve, inputs: Tensor, probabilities: Tensor, n: int) -> CandidateTerms:
        """By C applications of H⁻¹ to inputs x (D, b)."""
        inputs, classes = inputs.float(), probabilities.shape[1]
        d, b = inputs.shape
        z = inputs.new_empty(b, d * classes, classes)
        for c in range(classes):
            unit = inputs.new_zeros(d, classes, b)
            unit[:, c] = inputs
            z[:, :, c] = solve(unit).reshape(d * classes, b).T
        gram = torch.einsum("db,bdij->bij", inputs, z.view(b, d, classes, classes))
        return cls(z, (gram + gram.mT) / 2, probabilities, n)

    def select(self, index: Tensor) -> CandidateTerms:
        return CandidateTerms(self.z[index], self.gram[index], self.probabilities[index], self.n)

    def net_curvature(self, scale: float, mass: Tensor, p: Tensor) -> Tensor:
        """N (b, C, C) for a, β (b,) and the candidates' present probabilities p (b, C)."""
        weight = (scale / self.n + mass)[:, None, None]
        return weight * softmax_covariance(p) - softmax_covariance(self.probabilities) / self.n

    def correction(self, scale: float, mass: Tensor, p: Tensor) -> Tensor:
        """K (b, C, C), float32, for a, β (b,) and p (b, C)."""
        curvature = self.net_curvature(scale, mass, p)
        identity = torch.eye(p.shape[1], dtype=curvature.dtype, device=p.device)
        system = identity + self.gram.to(curvature.dtype) @ curvature
        k = torch.linalg.solve_ex(system.mT, curvature.mT).result.mT  # where that is singular: not finite
        return ((k + k.mT) / 2).float()


def softmax_covariance(p: Tensor) -> Tensor:
    """S = diag(p) − p pᵀ for p (..., C)."""
    return torch.diag_embed(p) - p[..., :, None] * p[..., None, :]


def corrected(solve: Solve, terms: CandidateTerms, k: Tensor) -> Solve:
    """R (D, C, b) → (H⁻¹ − Z K Zᵀ)R."""

    def apply(r: Tensor) -> Tensor:
        flat = r.reshape(-1, r.shape[-1])
        inner = torch.einsum("bij,bj->bi", k, torch.bmm(flat.T[:, None], terms.z)[:, 0])
        return solve(r) - torch.bmm(terms.z, inner[:, :, None])[..., 0].T.reshape(r.shape)

    return apply
