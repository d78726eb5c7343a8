r"""The inverse Gauss–Newton matrix by trace-restricted Kronecker factors, layer by layer (Gao et al. 2021).

    block ≈ G ⊗ A / τ,   A = (1/n) Σ_i Σ_c Σ_t ‖g_ict‖² ā_it ā_itᵀ,   G = (1/n) Σ_i Σ_c Σ_t ‖ā_it‖² g_ict g_ictᵀ,
    τ = tr A = tr G

with ā and g as `kronecker` has them: unlike K-FAC's, the factors weigh each input by its derivative and each derivative
by its input, and the product has the block's own trace. Of a layer with several positions, which are taken as
independent of each other as in K-FAC, it is the trace of the sum over positions.
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
    """TKFAC, rhs (P, b), as `kronecker.solved` says; the factors are made once a problem, in a pass of C + 1 gradients'
    work an example."""
    return kronecker.solved(operator, rhs, "TKFAC", lambda: factors(operator.problem, operator.options), columns)


def factors(problem: CurvedModule, options: Options) -> KroneckerFactors:
    """The factors of the whole training set, kept on the problem."""
    return kronecker.factors_by(problem, "tkfac", _second_moments, _eigenvalues, options)


def _second_moments(g: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """Σ ‖ā‖² g gᵀ and Σ ‖g‖² ā āᵀ over examples and positions of g (b, t, out) and ā (b, t, in)."""
    g, a = g.flatten(0, 1), a.flatten(0, 1)
    of_inputs, of_outputs = (each.square().sum(1, keepdim=True) for each in (a, g))
    return g.T @ (g * of_inputs), a.T @ (a * of_outputs)


def _eigenvalues(of_outputs: Tensor, of_inputs: Tensor) -> Tensor:
    """Of G ⊗ A / τ; zero where all derivatives are."""
    return torch.outer(of_outputs, of_inputs) / of_inputs.sum().clamp_min(torch.finfo(of_inputs.dtype).tiny)


TKFAC = InverseHessian("tkfac", "TKFAC", "Gao et al. 2021", solve, (GaussNewton,), products=2, factored=True,
                       known=("Influence function (TKFAC)", "Gao et al. 2021", "TKFAC"))
