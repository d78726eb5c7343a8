r"""(ΦᵀΦ + λI)⁻¹ of features Φ (n, k), λ a fraction of the mean nonzero eigenvalue of ΦᵀΦ, and rules that choose it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.curvature.gram import inverse_of_features, squared_norm
from engine.gradients.scaled import Features

TRIED = tuple(10.0 ** (quarter / 4) for quarter in range(-24, 13))
"""Fractions among which a rule chooses: 1e-6 to 1e3."""


def regularised_inverse(phi: Features, ridge: float) -> Callable[[Tensor], Tensor]:
    """rows (m, k) -> rows (ΦᵀΦ + λI)⁻¹, (m, k), in float64; λ = ridge · ‖Φ‖²/min(n, k)."""
    return inverse_of_features(phi, ridge * squared_norm(phi) / min(phi.shape))


def generalised_cross_validation(phi: Features, target: Tensor) -> float:
    """The fraction with the least GCV(λ) = (1/n)‖y − Sy‖² / (1 − tr S/n)² (Golub et al. 1979), y (n,) the target
    without its mean and S = Φ(ΦᵀΦ + λI)⁻¹Φᵀ the smoother of a ridge regression of it on the features."""
    return _least(phi, target, lambda left, smoother: left.square().mean() / (1 - smoother.mean()) ** 2)


def leave_one_out(phi: Features, target: Tensor) -> float:
    """The fraction with the least mean squared error of predictions without the example itself, of the same regression:
    (1/n) Σ_i ((y − Sy)_i/(1 − S_ii))² (Allen 1974)."""
    return _least(phi, target, lambda left, smoother: (left / (1 - smoother)).square().mean())


RULES: dict[str, Callable[[Features, Tensor], float]] = {"gcv": generalised_cross_validation, "loo": leave_one_out}


def _least(phi: Features, target: Tensor, error: Callable[[Tensor, Tensor], Tensor]) -> float:
    """error: y − Sy (n,) and the diagonal of S (n,) -> a number."""
    left, values, _ = torch.linalg.svd(phi.double(), full_matrices=False)
    squared, y = values.square(), (target - target.mean()).double()
    mean = squared.sum() / min(phi.shape)
    inner, errors = left.T @ y, []
    for ridge in TRIED:
        shrunk = squared / (squared + ridge * mean)
        errors.append(error(y - left @ (shrunk * inner), left.square() @ shrunk).item())
    return TRIED[min(range(len(TRIED)), key=errors.__getitem__)]
