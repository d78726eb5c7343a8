r"""The inverse Hessian with a Kronecker-factored cross-entropy term.

H ≈ A ⊗ G + diag(λ_j) ⊗ I_C, with A = (1/n) Σ_i x_i x_iᵀ (D, D) and G = (1/n) Σ_i (diag(p_i) − p_i p_iᵀ) (C, C),
the expectation over labels drawn from the model. It is exact where all p_i are equal.
With m_j = λ_j + damping, diag(m)^(−½) A diag(m)^(−½) = U diag(a) Uᵀ and G = V diag(g) Vᵀ, the approximation's
inverse is applied exactly:

    x = L [(Lᵀ rhs V)_ij / (a_i g_j + 1)] Vᵀ,   L = diag(m)^(−½) U.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.curvature.softmax_hessian import SoftmaxHessian
from engine.curvature.solution import InverseHessian, Solution, measured

INTERCEPT_FLOOR = 1e-8
"""The least m_j: without damping an intercept has none, and L would not exist."""


@dataclass(frozen=True)
class KfacFactors:
    """L (D, D), V (C, C) and the inverse of a_i g_j + 1 (D, C)."""

    left: Tensor
    right: Tensor
    inverse: Tensor


def solve(operator: SoftmaxHessian, rhs: Tensor) -> Solution:
    """K-FAC (Martens & Grosse 2015; Grosse et al. 2023 for influence), rhs (P, b).

    The class-constant direction of an unregularised intercept is pinned as in `softmax.factor`. The factors
    of the last damping are kept on the problem.
    """
    problem, damping = operator.problem, operator.damping
    d, c = problem.dimension, problem.classes
    shaped = rhs.reshape(d, c, -1)
    factors = operator.memo("kfac", lambda: factorise(problem.x, problem.probabilities, problem.penalty, damping),
                            damping)
    inner = factors.right.T @ (factors.left.T @ shaped.reshape(d, -1)).view(shaped.shape)
    inner = factors.right @ (inner * factors.inverse[..., None])
    x = (factors.left @ inner.reshape(d, -1)).view(shaped.shape)
    if problem.intercept:
        x[-1] += shaped[-1].mean(0) / (1.0 + damping) - x[-1].mean(0)
    return measured(operator, x.view(rhs.shape), rhs, {"factored": 1.0})


def factorise(x: Tensor, probabilities: Tensor, penalty: Tensor, damping: float) -> KfacFactors:
    """The factors for inputs x (n, D), probabilities (n, C), penalties λ_j (D,) and a damping."""
    root = (penalty + damping).clamp_min(INTERCEPT_FLOOR).rsqrt()
    scaled = x * root
    a, u = torch.linalg.eigh(scaled.T @ scaled / len(x))
    g, v = torch.linalg.eigh(torch.diag(probabilities.mean(0)) - probabilities.T @ probabilities / len(x))
    return KfacFactors(root[:, None] * u, v, 1.0 / (a.clamp_min(0)[:, None] * g.clamp_min(0) + 1.0))


KFAC = InverseHessian("kfac", "K-FAC", "Martens & Grosse 2015; Grosse et al. 2023", solve, (SoftmaxHessian,),
                      products=1)
