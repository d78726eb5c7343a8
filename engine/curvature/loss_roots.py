r"""Square roots of the loss's Hessian in the logits: R_i R_iᵀ = H_i = ∂²ℓ/∂f², one (C, k) matrix an example.

With them the Gauss–Newton matrix is a second moment of derivatives, (1/n) Σ_i Σ_c (J_iᵀ R_ic)(J_iᵀ R_ic)ᵀ. For the
cross-entropy H_i = diag(p_i) − p_i p_iᵀ, and the columns √p_ic (e_c − p_i) are its derivatives at each label c,
weighted by the model's own probability of it: the Gauss–Newton matrix is then the Fisher information.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.curvature.gauss_newton import loss_curvature
from engine.curvature.model import CurvedModule
from engine.models.losses import per_example_cross_entropy

EXACT_CLASSES = 20
"""Up to so many classes the expectation over the model's labels is a sum over all of them."""
SAMPLED_LABELS = 10
"""Above, so many labels an example are drawn from the model."""


class LossRoots:
    """R of any training rows at θ_D, the same at every call and for every chunking.

    Cross-entropy with more than EXACT_CLASSES classes: (e_ĉ − p)/√SAMPLED_LABELS for labels ĉ drawn once, from
    seed 0, so that R Rᵀ is H in expectation. Any other loss: the eigenvectors of H_i times the root of their
    eigenvalues, negative ones (a loss that is not convex in the logits) taken as zero.
    """

    def __init__(self, problem: CurvedModule) -> None:
        self.problem = problem
        self.cross_entropy = problem.loss is per_example_cross_entropy
        if self.cross_entropy and problem.classes > EXACT_CLASSES:
            probabilities = problem.network.predict(problem.x).softmax(-1).double().cpu()
            drawn = torch.multinomial(probabilities, SAMPLED_LABELS, replacement=True,
                                      generator=torch.Generator().manual_seed(0))
            self.labels = drawn.to(problem.device)

    def __call__(self, rows: Tensor, logits: Tensor) -> Tensor:
        """rows (b,), their logits (b, C) -> R (b, C, k)."""
        if not self.cross_entropy:
            return _eigen_root(self.problem, logits, self.problem.y[rows])
        p = logits.softmax(-1)
        if self.problem.classes <= EXACT_CLASSES:
            return (torch.eye(p.shape[1], dtype=p.dtype, device=p.device) - p[..., None]) * p.sqrt()[:, None]
        drawn = torch.nn.functional.one_hot(self.labels[rows], p.shape[1]).to(p)
        return (drawn - p[:, None]).transpose(1, 2) / SAMPLED_LABELS ** 0.5


def _eigen_root(problem: CurvedModule, logits: Tensor, labels: Tensor) -> Tensor:
    identity = torch.eye(logits.shape[1], dtype=logits.dtype, device=logits.device)
    columns = loss_curvature(problem, logits, labels)(identity[:, None].expand(-1, len(logits), -1))
    values, vectors = torch.linalg.eigh(columns.permute(1, 2, 0).double())
    return (vectors * values.clamp_min(0).sqrt()[:, None]).to(logits)
