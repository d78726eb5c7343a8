r"""The intervened objectives of softmax regression as weights: a on the data loss, and terms on z_k's own logits.

F_k(W) = (a/n) Σ_i ℓ(z_i; W) + (λ/2)‖W‖² + β logsumexp(u) − tᵀu with u = Wᵀx_k, and for a
`engine.question.change.Change` with weights c and (c_j, y_j): β = c + Σ_j c_j, t = c e_{y_k} + Σ_j c_j e_{y_j}.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import one_hot

from engine.exact.newton import Objectives
from engine.problems import SoftmaxProblem
from engine.question.interventions import Intervention


def objectives(problem: SoftmaxProblem, intervention: Intervention, candidates: Tensor) -> Objectives:
    """The batch of objectives of `candidates` (b,) under one intervention.

    Raises `InvalidInput` for a relabelling to a class that does not exist.
    """
    x, y = problem.units(candidates)
    inputs = x.T.contiguous()
    own = one_hot(y, problem.classes).T.to(inputs.dtype)
    change = intervention.change(problem.n)
    target = change.own * own
    for weight, label in change.further:
        problem.check_label(label)
        target[label] += weight
    return Objectives(change.scale, inputs, inputs.new_full((len(candidates),), change.mass), target)
