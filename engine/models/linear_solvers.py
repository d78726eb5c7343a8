"""Solvers of symmetric positive definite systems, for many right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Linear = Callable[[Tensor], Tensor]


def by_factor(factor: Tensor, rhs: Tensor) -> Tensor:
    """A⁻¹ rhs (P, b) with A = LLᵀ by forward and back substitution, L = `factor` (P, P).

    As `torch.cholesky_solve`, which copies L at every call.
    """
    halfway = torch.linalg.solve_triangular(factor, rhs, upper=False)
    return torch.linalg.solve_triangular(factor.mT, halfway, upper=True)


@dataclass(frozen=True)
class Iterate:
    """x (..., b), the relative residual the recurrence ended with (b,), and the iterations spent (b,)."""

    x: Tensor
    residual: Tensor
    iterations: Tensor


def conjugate_gradients(apply: Linear, rhs: Tensor, *, tolerance: float, limit: int,
                        precondition: Linear | None = None) -> Iterate:
    """Preconditioned conjugate gradients (Hestenes & Stiefel 1952) from x = 0, each column on its own.

    rhs (..., b) holds one right-hand side in each last index. `apply` and `precondition` are symmetric
    positive (semi)definite, map (..., a) to (..., a) and treat all columns alike, because a column
    leaves the batch once ‖r‖ ≤ tolerance·‖rhs‖, after `limit` iterations, or where it meets no positive
    curvature. The residual is that of the recurrence; measure the true one where rounding matters.
    """
    precondition = precondition or (lambda r: r)
    norm = _norm(rhs)
    out, relative = torch.zeros_like(rhs), torch.where(norm > 0, 1.0, 0.0).to(norm)
    iterations = torch.zeros_like(norm, dtype=torch.long)
    active = norm.nonzero()[:, 0]
    norm, residual = norm[active], rhs[..., active]
    x, direction = torch.zeros_like(residual), precondition(residual)
    energy = _inner(residual, direction)
    for _ in range(limit):
        if not len(active):
            break
        image = apply(direction)
        curvature = _inner(direction, image)
        step = torch.where(curvature > 0, energy / curvature, 0.0)
        x += step * direction
        residual = residual - step * image
        iterations[active] += 1
        relative[active] = _norm(residual) / norm
        going = (relative[active] > tolerance) & (curvature > 0)
        if not going.all():
            out[..., active[~going]] = x[..., ~going]
            active, norm, energy = active[going], norm[going], energy[going]
            x, residual, direction = x[..., going], residual[..., going], direction[..., going]
        preconditioned = precondition(residual)
        energy, last = _inner(residual, preconditioned), energy
        direction = preconditioned + (energy / last) * direction
    out[..., active] = x
    return Iterate(out, relative, iterations)


def _inner(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).flatten(0, -2).sum(0)


def _norm(a: Tensor) -> Tensor:
    return a.flatten(0, -2).norm(dim=0)
