r"""(ΦᵀΦ + δI)⁻¹ of features Φ (n, k), on rows.

Where n < k the same is solved in the n × n dual: (q − Φᵀ(ΦΦᵀ + δI)⁻¹Φq)/δ (Woodbury).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.models.linear_solvers import by_factor

Rows = Callable[[Tensor], Tensor]
"""Rows (m, k) -> rows (m, k), in float64."""


def inverse_of_features(phi: Tensor, damping: Tensor | float) -> Rows:
    """rows -> rows (ΦᵀΦ + δI)⁻¹, δ > 0."""
    n, k = phi.shape
    phi = phi.double()
    if n >= k:
        return inverse_of_gram(phi.T @ phi, damping)
    dual = _factor(phi @ phi.T, damping)
    return lambda rows: (rows - by_factor(dual, phi @ rows.T).T @ phi) / damping


def inverse_of_gram(gram: Tensor, damping: Tensor | float) -> Rows:
    """rows -> rows (gram + δI)⁻¹ of a matrix (k, k) = ΦᵀΦ, δ > 0."""
    factor = _factor(gram.double(), damping)
    return lambda rows: by_factor(factor, rows.T).T


def _factor(gram: Tensor, damping: Tensor | float) -> Tensor:
    gram = gram.clone()
    gram.diagonal().add_(damping)
    return torch.linalg.cholesky(gram)
