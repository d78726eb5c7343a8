r"""The Hessian of a module's training objective.

    ∇²L_D(θ_D) = (1/n) Σ_i ∇²ℓ(z_i; θ_D) + λI

The graph of the gradient is built once for a chunk of examples and pulled back for one right-hand side after another
(Pearlmutter 1994, in reverse mode twice).
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from engine.curvature.graphs import Product, flat, gradient_graph, pulled_back
from engine.curvature.lanczos import ritz_values
from engine.curvature.model import CurvedModule
from engine.curvature.module_operator import ModuleOperator

SPECTRUM_STEPS = 30
"""Lanczos steps at most, each a pass over the data, once a problem."""


class Hessian(ModuleOperator):
    """∇²L_D(θ_D) + δI, which need not be positive definite."""

    gauss_newton: ClassVar = False

    @staticmethod
    def summed(problem: CurvedModule, rows: Tensor) -> Product:
        return hessian_map(problem, rows)

    def smallest_eigenvalue(self, passes: int | None = None) -> float:
        """An upper bound of the smallest eigenvalue of ∇²L_D(θ_D), kept on the problem; rounding counts as zero."""
        steps = SPECTRUM_STEPS if passes is None else min(passes, SPECTRUM_STEPS)

        def build() -> float:
            values = ritz_values(self.along, self.random_start(), steps)
            rounding = 100 * torch.finfo(self.dtype).eps * values.abs().max()
            return values[0].item() if values[0] < -rounding else max(values[0].item(), 0.0)

        return self.memo("curvature: smallest eigenvalue", build, steps)

    def proves_indefinite(self, vectors: Tensor, images: Tensor) -> bool:
        energy = (vectors * images).sum(0)
        rounding = 100 * torch.finfo(vectors.dtype).eps * vectors.norm(dim=0) * images.norm(dim=0)
        return bool((energy < -rounding).any())


def hessian_map(problem: CurvedModule, rows: Tensor) -> Product:
    """V (r, P) -> Σ_i ∇²ℓ(z_i) V (r, P) over `rows`, on a graph that is kept."""
    leaves, gradients = gradient_graph(problem, rows)
    network = problem.network

    def product(block: Tensor) -> Tensor:
        return flat(pulled_back(gradients, leaves, list(network.unflatten(block).values())))

    return product
