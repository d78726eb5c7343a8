r"""The eigenpairs of largest magnitude of a symmetric map, from Krylov spaces of one vector or of a block of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.curvature.lanczos import lanczos

OVERSAMPLING = 16
BLOCKS = 5
"""The block Krylov basis holds BLOCKS blocks of rank + OVERSAMPLING vectors; at 5 the Ritz residual is below 1%
of λ."""


@dataclass(frozen=True)
class Eigenpairs:
    """λ (r,), largest magnitude first, V (P, r), and the smallest eigenvalue that was seen at all, an upper bound of
    the map's smallest. info: what a solution should say of them."""

    values: Tensor
    vectors: Tensor
    smallest: float
    info: dict[str, float]


def by_lanczos(apply: Callable[[Tensor], Tensor], start: Tensor, steps: int, rank: int) -> Eigenpairs:
    """From `steps` products of the map (P,) -> (P,); memory (steps + rank) · P numbers.

    info: the smallest kept magnitude, the largest ‖Hv − λv‖/|λ| of the pairs, and the smallest eigenvalue seen.
    """
    ritz = lanczos(apply, start, steps)
    largest_first = ritz.values.abs().argsort(descending=True)[:rank]
    values = ritz.values[largest_first]
    vectors = ritz.basis.T @ ritz.coordinates[:, largest_first].to(ritz.basis)
    fault = (ritz.residual[largest_first] / values.abs().clamp_min(torch.finfo(values.dtype).tiny)).max().item()
    smallest = ritz.values[0].item()
    info = {"smallest_kept_eigenvalue": values.abs().min().item(), "eigenpair_residual": fault,
            "smallest_eigenvalue": smallest}
    return Eigenpairs(values.to(vectors), vectors, smallest, info)


def by_blocks(apply: Callable[[Tensor], Tensor], start: Tensor, rank: int) -> Eigenpairs:
    """Of a positive semidefinite map (P, w) -> (P, w), from BLOCKS products of blocks as wide as start (P, w)."""
    return largest(*_ritz_pairs(apply, start), rank)


def largest(values: Tensor, vectors: Tensor, rank: int) -> Eigenpairs:
    """Of ascending λ (m,) and V (P, m), none of them negative, the last `rank`."""
    top = values[-rank:].flip(0)
    smallest = top.min().item()
    return Eigenpairs(top, vectors[:, -rank:].flip(1), smallest, {"smallest_eigenvalue": smallest})


def _ritz_pairs(apply: Callable[[Tensor], Tensor], start: Tensor) -> tuple[Tensor, Tensor]:
    """Ritz values, ascending, and vectors of a symmetric map on span{S, HS, …, H^(BLOCKS−1) S}, S = start (P, w).

    Block Lanczos: every new block is orthogonalised three times against all earlier ones, which keeps the
    basis orthonormal even after the Krylov space is exhausted.
    """
    blocks = [torch.linalg.qr(start).Q]
    images: list[Tensor] = []
    while len(images) < BLOCKS:
        images.append(apply(blocks[-1]))
        if len(images) < BLOCKS:
            basis, fresh = torch.cat(blocks, 1), images[-1]
            for _ in range(3):
                fresh = torch.linalg.qr(fresh - basis @ (basis.T @ fresh)).Q
            blocks.append(fresh)
    basis = torch.cat(blocks, 1)
    small = basis.T @ torch.cat(images, 1)
    values, vectors = torch.linalg.eigh((small + small.T) / 2)
    return values, basis @ vectors
