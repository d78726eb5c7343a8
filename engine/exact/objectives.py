r"""The intervened objectives of softmax regression as weights: a on the data loss, and terms on z_k's own logits.

F_k(W) = (a/n) Σ_i ℓ(z_i; W) + (λ/2)‖W‖² + β logsumexp(u) − tᵀu with u = Wᵀx_k, and for a
`engine.question.change.Change` with weights c and (c_j, y_j): β = c + Σ_j c_j, t = c e_{y_k} + Σ_j c_j e_{y_j}.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from engine.exact.newton import Objectives
from engine.problems import SoftmaxProblem
from engine.question.interventions import Intervention


def objectives(problem: SoftmaxProblem, intervention: Intervention, candidates: Tensor) -> Objectives:
    """The batch of objectives of `candidates` (b,) under one intervention.

    Raises `InvalidInput` for a relabelling to a class that does not exist.
    """
    inputs = problem.x[candidates].T.contiguous()
    own = one_hot(problem.y[candidates], problem.classes).T.to(inputs.dtype)
    change = intervention.change(problem.n)
    target = change.own * own
    for weight, label in change.further:
        problem.check_label(label)
        target[label] += weight
    return Objectives(change.scale, inputs, inputs.new_full((len(candidates),), change.mass), target)


def linear_force(problem: SoftmaxProblem, terms: Objectives) -> tuple[Tensor, Tensor]:
    """∇F_k(θ_D), up to ∇L_D(θ_D) = 0, as (signal (b, C) along x_k, common (D, C)).

    The common part, (a − 1)·∇L_data = −(a − 1)·λθ_D, is the offset that removal over n−1 gives every candidate.
    """
    p = torch.einsum("db,dc->cb", terms.inputs, problem.weights).softmax(0)
    common = -(terms.scale - 1.0) * problem.penalty[:, None] * problem.weights
    return (terms.mass * p - terms.target).T, common
