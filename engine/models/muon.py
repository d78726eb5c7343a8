r"""Muon's step on one matrix, as a pure function (Jordan et al. 2024; `torch.optim.Muon`).

    m_{t+1} = μ m_t + (1 − μ) g_t,        u = (1 − μ) g_t + μ m_{t+1} (Nesterov), else u = m_{t+1}
    θ_{t+1} = (1 − η_t λ) θ_t − η_t r O(u),   r of `ratio`

O(u), of `orthogonal`, is close to U Vᵀ of u = U S Vᵀ. torch computes it in bfloat16, here it is in the precision of u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from engine.models.rules import Rule, State, root

RATIOS = {"original": lambda rows, columns: math.sqrt(max(1.0, rows / columns)),
          "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
          "spectral_unclamped": lambda rows, columns: math.sqrt(rows / columns)}
"""r by the name of torch's `adjust_lr_fn`."""


@dataclass(frozen=True)
class Muon(Rule):
    """Of a matrix with this shape, as a flat vector (P,). ratio: its name in `RATIOS`."""

    shape: tuple[int, int]
    momentum: float = 0.95
    weight_decay: float = 0.1
    nesterov: bool = True
    coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315)
    epsilon: float = 1e-7
    iterations: int = 5
    ratio: str = "original"

    remembers: ClassVar[int] = 1
    linear: ClassVar[bool] = False
    penalty: ClassVar[float] = 0.0

    def step(self, theta: Tensor, state: State, gradient: Tensor, rate: float, count: int | Tensor
             ) -> tuple[Tensor, State]:
        mean = self.momentum * state[0] + (1 - self.momentum) * gradient
        update = (1 - self.momentum) * gradient + self.momentum * mean if self.nesterov else mean
        moved = rate * RATIOS[self.ratio](*self.shape) * self.orthogonal(update.reshape(self.shape)).flatten()
        return (1 - rate * self.weight_decay) * theta - moved, (mean,)

    def orthogonal(self, matrix: Tensor) -> Tensor:
        """Newton–Schulz, X ← aX + (bXXᵀ + c(XXᵀ)²)X from X = u/‖u‖_F, for a matrix u (A, B)."""
        a, b, c = self.coefficients
        tall = matrix.shape[0] > matrix.shape[1]
        x = matrix.T if tall else matrix
        x = x / root(x.square().sum()).clamp(min=self.epsilon)
        for _ in range(self.iterations):
            gram = x @ x.T
            x = a * x + (b * gram + c * gram @ gram) @ x
        return x.T if tall else x
