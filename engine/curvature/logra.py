r"""LoGra: the empirical Fisher matrix of every layer's gradients under a random projection of two sides.

    R vec(D) = vec(P_out D P_inᵀ),   P_out (r, out) and P_in (r, in) with normal entries of variance 1/r

as `projected` inverts it (Choe et al. 2024). A side that is no longer than r stays as it is; where both are, this is
the layer's block of the empirical Fisher matrix.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.settings import Settings, setting
from engine.basics.values import Count
from engine.curvature import projected
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.layers import CurvatureLayer
from engine.curvature.projected import Sampler
from engine.curvature.solution import InverseHessian, Solution
from engine.gradients.layer_projection import LayerProjection, gaussian

RANK = 16


class LograSettings(Settings):
    """Settings of LoGra."""

    rank: Count = setting(
        RANK, "Dimensions to which each side of a layer's gradient is projected; their square per layer.",
        "this program, for small networks (64 in Choe et al. 2024)",
        "memory with its fourth power, time with its sixth", finer=2, ge=1, le=256)

    @property
    def effort(self) -> float:
        return max(1.0, (self.rank / RANK) ** 2)


def two_sided(rank: int) -> Sampler:
    """R of any layer."""
    def sampler(layer: CurvatureLayer, generator: torch.Generator, like: Tensor) -> LayerProjection:
        return LayerProjection(gaussian(layer.outputs, rank, generator, like),
                               gaussian(layer.inputs, rank, generator, like))

    return sampler


def solve(operator: GaussNewton, rhs: Tensor, *, rank: int = RANK, columns: int | None = None) -> Solution:
    """LoGra, rhs (P, b), as `projected.solved` says."""
    return projected.solved(operator, rhs, "LoGra", f"logra:{rank}", two_sided(rank), columns)


LOGRA = InverseHessian("logra", "LoGra", "Choe et al. 2024", solve, (GaussNewton,), products=2, factored=True,
                       settings=LograSettings, known=("LoGra", "Choe et al. 2024"))
