r"""(ΦᵀΦ + λI)⁻¹ of features Φ (n, k), λ a fraction of the mean nonzero eigenvalue of ΦᵀΦ.

Where n < k the same is solved in the n × n dual: (q − Φᵀ(ΦΦᵀ + λI)⁻¹Φq)/λ (Woodbury).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.models.linear_solvers import by_factor


def regularised_inverse(phi: Tensor, ridge: float) -> Callable[[Tensor], Tensor]:
    """`inverse` with λ = ridge · ‖Φ‖²/min(n, k)."""
    return inverse(phi, ridge * phi.double().square().sum().item() / min(phi.shape))


def inverse(phi: Tensor, damping: float) -> Callable[[Tensor], Tensor]:
    """rows (m, k) -> rows (ΦᵀΦ + λI)⁻¹, (m, k), in float64, λ the damping."""
    n, k = phi.shape
    phi = phi.double()
    if n >= k:
        factor = _factor(phi.T @ phi, damping)
        return lambda rows: by_factor(factor, rows.T).T
    dual = _factor(phi @ phi.T, damping)
    return lambda rows: (rows - by_factor(dual, phi @ rows.T).T @ phi) / damping


def _factor(gram: Tensor, damping: float) -> Tensor:
    gram.diagonal().add_(damping)
    return torch.linalg.cholesky(gram)
