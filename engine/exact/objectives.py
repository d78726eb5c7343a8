r"""The intervened training objectives as weights: a on the data loss, and terms on z_k's own logits.

F_k(W) = (a/n) Σ_i ℓ(z_i; W) + (λ/2)‖W‖² + β logsumexp(u) − tᵀu with u = Wᵀx_k.

    upweight(α)        a = 1,        β = α,          t = α e_y
    remove, over n−1   a = n/(n−1),  β = −1/(n−1),   t = −e_y/(n−1)
    remove, over n     a = 1,        β = −1/n,       t = −e_y/n
    relabel(y')        a = 1,        β = 0,          t = (e_y' − e_y)/n
    infinitesimal      the derivative in α: β = 1, t = e_y (used by linear responses only)
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from engine.exact.newton import Objectives


def objectives(problem, intervention, candidates: Tensor) -> Objectives:
    """The batch of objectives of `candidates` (b,) under one intervention.

    Raises `InvalidInput` for a relabelling to a class that does not exist.
    """
    inputs = problem.x[candidates].T.contiguous()
    own = one_hot(problem.y[candidates], problem.classes).T.to(inputs.dtype)
    scale, mass, target = _TERMS[intervention.kind](problem, intervention, own)
    return Objectives(scale, inputs, inputs.new_full((len(candidates),), mass), target)


def linear_force(problem, terms: Objectives) -> tuple[Tensor, Tensor]:
    """∇F_k(θ_D), up to ∇L_D(θ_D) = 0, as (signal (b, C) along x_k, common (D, C)).

    The common part, (a − 1)·∇L_data = −(a − 1)·λθ_D, is the offset that removal over n−1 gives every candidate.
    """
    p = torch.einsum("db,dc->cb", terms.inputs, problem.weights).softmax(0)
    common = -(terms.scale - 1.0) * problem.penalty[:, None] * problem.weights
    return (terms.mass * p - terms.target).T, common


def _remove(problem, intervention, own):
    if intervention.normalization == "n":
        return 1.0, -1.0 / problem.n, -own / problem.n
    left = problem.n - 1
    return problem.n / left, -1.0 / left, -own / left


def _relabel(problem, intervention, own):
    problem.check_label(intervention.label)
    new = torch.zeros_like(own)
    new[intervention.label] = 1.0
    return 1.0, 0.0, (new - own) / problem.n


_TERMS = {
    "upweight": lambda problem, intervention, own: (1.0, intervention.alpha, intervention.alpha * own),
    "remove": _remove,
    "relabel": _relabel,
    "infinitesimal": lambda problem, intervention, own: (1.0, 1.0, own),
}
