r"""Lanczos' method on a symmetric map: an orthonormal basis in which the map is tridiagonal.

    H q_j = β_{j−1} q_{j−1} + α_j q_j + β_j q_{j+1},   T = tridiag(β, α, β) = Qᵀ H Q

The eigenvalues of T (Ritz values) lie within the spectrum of H, and its outermost are found first. Every new vector
is orthogonalised twice against all earlier ones; where the Krylov space is exhausted, a fresh random vector goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Ritz:
    """Ritz values (m,), ascending; Ritz vector i is basisᵀ (P, m) @ coordinates[:, i], with residual (m,)
    ‖H v_i − θ_i v_i‖ = β_m |coordinates[m, i]|."""

    values: Tensor
    coordinates: Tensor
    basis: Tensor
    residual: Tensor


def lanczos(apply: Callable[[Tensor], Tensor], start: Tensor, steps: int) -> Ritz:
    """`steps` products of a symmetric `apply` (P,) -> (P,) from `start` (P,); memory steps × P.

    With steps = P the Ritz pairs are the eigenpairs (Lanczos 1950; full reorthogonalisation: Golub & Van Loan).
    """
    steps = min(steps, len(start))
    generator = torch.Generator().manual_seed(0)
    basis = start.new_zeros(steps, len(start))
    alpha, beta = torch.zeros(steps, dtype=torch.float64), torch.zeros(steps, dtype=torch.float64)
    vector, scale = start / start.norm(), 0.0
    for j in range(steps):
        basis[j] = vector
        image = apply(vector)
        alpha[j] = torch.dot(vector, image).item()
        image = _orthogonalised(image, basis[:j + 1])
        beta[j] = image.norm().item()
        scale = max(scale, abs(alpha[j].item()), beta[j].item())
        if beta[j] > 100 * torch.finfo(start.dtype).eps * scale:
            vector = image / image.norm()
        elif j + 1 < steps:
            beta[j] = 0.0
            fresh = torch.randn(len(start), generator=generator, dtype=torch.float64).to(start)
            fresh = _orthogonalised(fresh, basis[:j + 1])
            vector = fresh / fresh.norm()
    small = torch.diag(alpha) + torch.diag(beta[:-1], 1) + torch.diag(beta[:-1], -1)
    values, coordinates = torch.linalg.eigh(small)
    residual = beta[-1] * coordinates[-1].abs()
    return Ritz(values, coordinates, basis, residual)


def ritz_values(apply: Callable[[Tensor], Tensor], start: Tensor, steps: int) -> Tensor:
    """Ritz values (m,), ascending, of the three-term recurrence alone: the memory of four vectors (P,).

    Without orthogonalisation rounding brings copies of converged Ritz values, but none outside the spectrum.
    """
    alpha: list[float] = []
    beta: list[float] = []
    vector, last = start / start.norm(), torch.zeros_like(start)
    for _ in range(min(steps, len(start))):
        image = apply(vector)
        alpha.append(torch.dot(vector, image).item())
        image.sub_(vector, alpha=alpha[-1]).sub_(last, alpha=beta[-1] if beta else 0.0)
        beta.append(image.norm().item())
        if beta[-1] <= 100 * torch.finfo(start.dtype).eps * max(map(abs, alpha)):
            break
        vector, last = image / beta[-1], vector
    off = torch.tensor(beta[:-1], dtype=torch.float64)
    return torch.linalg.eigvalsh(torch.diag(torch.tensor(alpha, dtype=torch.float64))
                                 + torch.diag(off, 1) + torch.diag(off, -1))


def _orthogonalised(vector: Tensor, basis: Tensor) -> Tensor:
    for _ in range(2):
        vector = vector - basis.T @ (basis @ vector)
    return vector
