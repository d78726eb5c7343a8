r"""(ΦᵀΦ + δI)⁻¹ of features Φ (n, k), on rows.

Where n < k the same is solved in the n × n dual: (q − Φᵀ(ΦΦᵀ + δI)⁻¹Φq)/δ (Woodbury).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from engine.gradients.scaled import Features
from engine.models.linear_solvers import by_factor

COLUMNS = 1024
Rows = Callable[[Tensor], Tensor]
"""Rows (m, k) -> rows (m, k), in float64."""


def inverse_of_features(phi: Features, damping: Tensor | float) -> Rows:
    """rows -> rows (ΦᵀΦ + δI)⁻¹, δ > 0."""
    if phi.shape[0] >= phi.shape[1]:
        phi = phi.double()
        return inverse_of_gram(phi.T @ phi, damping)
    zero = torch.zeros((), dtype=torch.float64, device=phi.device)
    dual = _factor(sum((part @ part.T for part in _columns(phi)), start=zero), damping)

    def solve(rows: Tensor) -> Tensor:
        pairs = zip(_columns(phi), _columns(rows), strict=True)
        inner = sum((part @ own.T for part, own in pairs), start=zero)
        weights = by_factor(dual, inner).T
        return (rows - torch.cat([weights @ part for part in _columns(phi)], 1)) / damping

    return solve


def squared_norm(phi: Features) -> Tensor:
    """‖Φ‖² in float64."""
    return torch.stack([part.square_().sum() for part in _columns(phi)]).sum()


def _columns(phi: Features) -> Iterator[Tensor]:
    """COLUMNS of Φ at a time in float64, one after another in the same memory, so that it is never held in it."""
    room = torch.empty(phi.shape[0], min(COLUMNS, phi.shape[1]), dtype=torch.float64, device=phi.device)
    return (room[:, :part.shape[1]].copy_(part) for part in phi.split(COLUMNS, 1))


def inverse_of_gram(gram: Tensor, damping: Tensor | float) -> Rows:
    """rows -> rows (gram + δI)⁻¹ of a matrix (k, k) = ΦᵀΦ, δ > 0."""
    factor = _factor(gram.double(), damping)
    return lambda rows: by_factor(factor, rows.T).T


def _factor(gram: Tensor, damping: Tensor | float) -> Tensor:
    gram = gram.clone()
    gram.diagonal().add_(damping)
    return torch.linalg.cholesky(gram)
