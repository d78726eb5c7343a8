r"""FactGraSS: the empirical Fisher matrix of every layer's gradients under a sparse random projection.

    R vec(D) = S vec(M_out D M_inᵀ)

M_out and M_in keep random coordinates of the output gradients and of the inputs, 2√k of each, so that only 4k of the
out · in numbers of a gradient are ever made; S is a count sketch of these to k numbers (Hu et al. 2025). `projected`
inverts the matrix. A side that is no longer than 2√k stays whole.
"""

from __future__ import annotations

from math import ceil

import torch
from torch import Tensor

from engine.basics.settings import GROWS, Settings, setting
from engine.basics.values import Count
from engine.curvature import projected
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.layers import CurvatureLayer
from engine.curvature.solution import InverseHessian, Solution
from engine.gradients.layer_projection import LayerProjection, random_mask, random_sketch

DIMENSION = 256
MASKED = 2
"""Coordinates of a side for each unit of √k (Hu et al. 2025: masks of 2√k on both sides)."""


class FactgrassSettings(Settings):
    """Settings of FactGraSS."""

    dimension: Count = setting(
        DIMENSION, "Dimension k to which a layer's gradient is projected.",
        "this program, for small networks (4,096 in Hu et al. 2025)", f"{GROWS}, memory with its square", ge=1,
        le=65_536)

    @property
    def effort(self) -> float:
        return max(1.0, self.dimension / DIMENSION)


def solve(operator: GaussNewton, rhs: Tensor, *, dimension: int = DIMENSION, columns: int | None = None) -> Solution:
    """FactGraSS, rhs (P, b), as `projected.solved` says."""
    side = ceil(MASKED * dimension**0.5)

    def sampler(layer: CurvatureLayer, generator: torch.Generator, like: Tensor) -> LayerProjection:
        outputs, inputs = (random_mask(size, side, generator, like) for size in (layer.outputs, layer.inputs))
        return LayerProjection(outputs, inputs, random_sketch(outputs.count * inputs.count, dimension, generator, like))

    return projected.solved(operator, rhs, "FactGraSS", f"factgrass:{dimension}", sampler, columns)


FACTGRASS = InverseHessian("factgrass", "FactGraSS", "Hu et al. 2025", solve, (GaussNewton,), products=2, factored=True,
                           settings=FactgrassSettings, known=("FactGraSS", "Hu et al. 2025"))
