r"""Square roots of the loss's Hessian in the logits: Σ_c R_ic R_icᵀ = H_i = ∂²ℓ/∂u², as directions R_ic like u_i.

With them the Gauss–Newton matrix is a second moment of derivatives, (1/n) Σ_i Σ_c (J_iᵀ R_ic)(J_iᵀ R_ic)ᵀ. For the
cross-entropy H_i = diag(p_i) − p_i p_iᵀ, and √p_ic (e_c − p_i) are its derivatives at each label c, weighted by the
model's own probability of it: the Gauss–Newton matrix is then the Fisher information. Where the loss is a sum of
cross-entropies of weight w_t, over the tokens of a response, H_i has such a block times w_t for every t.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from engine.curvature.gauss_newton import loss_curvature
from engine.curvature.model import CurvedModule
from engine.question.likelihood import slope

EXACT_OUTPUTS = 20
"""Up to so many logits an example the expectation over the model's labels is a sum over all of them."""
SAMPLED_LABELS = 10
"""Above, so many labels a position are drawn from the model; one draw of all positions is one direction."""
SAMPLED_AT_ONCE = 64
"""For so many examples at a time labels are drawn; how many decides nothing but the memory."""


class LossRoots:
    """R of any training rows at θ_D, the same at every call and for every chunking.

    Cross-entropy of more than EXACT_OUTPUTS logits: √w_t (e_ĉ − p_t)/√SAMPLED_LABELS at every position t for labels ĉ
    drawn once, from seed 0, so that the sum is H in expectation: draws of different positions are independent. Any
    other loss: the eigenvectors of H_i times the root of their eigenvalues, negative ones (a loss that is not convex in
    the logits) taken as zero.
    """

    def __init__(self, problem: CurvedModule) -> None:
        self.problem = problem
        self.labels: Tensor | None = None
        parameters = problem.network.unflatten(problem.theta)
        with torch.no_grad():
            size = problem.link.outputs(problem.x[:1], parameters).numel()
            if problem.link.softmax_weights(problem.x[:1]) is not None and size > EXACT_OUTPUTS:
                self.labels = _sampled_labels(problem, parameters)

    def __call__(self, rows: Tensor, logits: Tensor) -> Iterator[Tensor]:
        """rows (b,), their logits (b, …, C) -> every direction R_c (b, …, C)."""
        weights = self.problem.link.softmax_weights(self.problem.x[rows])
        if weights is None:
            yield from _eigen_root(self.problem, logits, rows).unbind(2)
            return
        root = weights.sqrt()[..., None].to(logits)
        if self.labels is None:
            yield from _all_labels(logits, root)
            return
        for labels in self.labels[rows].unbind(-1):
            yield root * slope(logits, labels) / SAMPLED_LABELS**0.5


def _sampled_labels(problem: CurvedModule, parameters: dict[str, Tensor]) -> Tensor:
    """SAMPLED_LABELS labels of every training example, at the positions that its loss reads: (n, …, SAMPLED_LABELS)."""
    generator, samples = torch.Generator().manual_seed(0), []
    for x in problem.x.split(SAMPLED_AT_ONCE):
        weights = problem.link.softmax_weights(x)
        assert weights is not None, "labels are sampled for such losses only"
        read = weights.cpu() > 0
        p = problem.link.outputs(x, parameters).softmax(-1).double().cpu()[read]
        labels = torch.zeros(*read.shape, SAMPLED_LABELS, dtype=torch.long)
        labels[read] = torch.multinomial(p, SAMPLED_LABELS, replacement=True, generator=generator)
        samples.append(labels)
    return torch.cat(samples).to(problem.device)


def _all_labels(logits: Tensor, root: Tensor) -> Iterator[Tensor]:
    """√w_t √p_tc (e_c − p_t) at position t, zero at all others, for every t and c: logits (b, …, C), root (b, …, 1)."""
    p = logits.softmax(-1)
    for column in range(root[0].numel()):
        here = torch.zeros_like(root[0]).flatten()
        here[column] = 1.0
        at = root * here.view(root[0].shape)
        for label in range(p.shape[-1]):
            labels = torch.full(p.shape[:-1], label, device=p.device)
            yield at * (slope(logits, labels) * p[..., label:label + 1].sqrt())


def _eigen_root(problem: CurvedModule, logits: Tensor, rows: Tensor) -> Tensor:
    identity = torch.eye(logits.shape[1], dtype=logits.dtype, device=logits.device)
    columns = loss_curvature(problem, logits, rows)(identity[:, None].expand(-1, len(logits), -1))
    values, vectors = torch.linalg.eigh(columns.permute(1, 2, 0).double())
    return (vectors * values.clamp_min(0).sqrt()[:, None]).to(logits)
