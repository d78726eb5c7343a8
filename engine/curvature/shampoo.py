r"""The inverse Gauss–Newton matrix by Shampoo's Kronecker factors, layer by layer (Gupta et al. 2018).

    block ≈ L^½ ⊗ R^½,   L = (1/n) Σ_i Σ_c D_ic D_icᵀ,   R = (1/n) Σ_i Σ_c D_icᵀ D_ic

with D_ic (out, in) the layer's gradient along R_c, as `kronecker` has it. The optimizer divides by the root of this
matrix, L^¼ ⊗ R^¼, of its mini-batches' gradients; here the derivatives are those of the Gauss–Newton matrix, so that it
stands beside EK-FAC (Morwani et al. 2024 say which curvature Shampoo approximates).
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature import kronecker
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.kronecker import KroneckerFactors
from engine.curvature.model import CurvedModule
from engine.curvature.solution import InverseHessian, Solution


def solve(operator: GaussNewton, rhs: Tensor, *, columns: int | None = None) -> Solution:
    """Shampoo, rhs (P, b), as `kronecker.solved` says; the factors are made once a problem, in a pass of C + 1
    gradients' work an example."""
    return kronecker.solved(operator, rhs, "Shampoo", lambda: factors(operator.problem, operator.options), columns)


def factors(problem: CurvedModule, options: Options) -> KroneckerFactors:
    """The factors of the whole training set, kept on the problem."""
    return kronecker.factors_by(problem, "shampoo", _second_moments, _eigenvalues, options)


def _second_moments(g: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """Σ D Dᵀ and Σ Dᵀ D over examples, D = Σ_t g_t ā_tᵀ of g (b, t, out) and ā (b, t, in)."""
    gradients = g.mT @ a
    across, along = gradients.transpose(0, 1).flatten(1), gradients.flatten(0, 1)
    return across @ across.T, along.T @ along


def _eigenvalues(of_outputs: Tensor, of_inputs: Tensor) -> Tensor:
    """Of L^½ ⊗ R^½."""
    return torch.outer(of_outputs.sqrt(), of_inputs.sqrt())


SHAMPOO = InverseHessian("shampoo", "Shampoo", "Gupta et al. 2018; Morwani et al. 2024", solve, (GaussNewton,),
                         products=2, factored=True,
                         known=("Influence function (Shampoo)", "Gupta et al. 2018", "Shampoo"))
