r"""Exact step responses of softmax regression, in closed form through the query–candidate kernel.

A gradient step on ℓ(z_k) moves W by −η x_k (p − e_y)ᵀ, so the logits of any query move by
−η K(q, k) (p − e_y), with K(q, k) = x_qᵀx_k. Only the candidate's own C logits need stepping.
Sources: paper Eq. 3 to 5; TracIn's checkpoints, Pruthi et al. (2020).
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.exact.response import Part, Response
from engine.models import softmax


def accumulated_signal(logits: Tensor, labels: Tensor, squared_norms: Tensor, eta: float, steps: int) -> Tensor:
    """Σ_t s_ℓ(z_k; θ^(t)), shape (b, C): the candidate's own logits (b, C) stepped by −η‖x_k‖² s_ℓ each time."""
    f, total = logits.clone(), torch.zeros_like(logits)
    index = torch.arange(len(labels), device=labels.device)
    for _ in range(steps):
        signal = f.softmax(-1)
        signal[index, labels] -= 1.0
        total += signal
        f -= eta * squared_norms[:, None] * signal
    return total


def stepped(problem, candidates: Tensor, eta: float, steps: int, weights: Tensor) -> Part:
    """The query logits after `steps` steps of size η on each candidate alone, from `weights`: a finite part."""
    x = problem.x[candidates]
    signal = accumulated_signal(x @ weights, problem.y[candidates], x.square().sum(1), eta, steps)
    baseline = problem.queries @ weights
    change = problem.kernel(candidates)[:, :, None] * signal
    return Part(baseline[:, None] - eta * change, baseline)


def unrolled(problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """`one_step` and `unrolled`: finite steps on z_k itself, or on the label-free loss −f_w(x_k)."""
    steps = getattr(process, "steps", 1)
    return [
        auxiliary_step(problem, candidates, process.eta) if intervention.kind == "auxiliary"
        else Response.closed_form(stepped(problem, candidates, process.eta, steps, problem.weights))
        for intervention in interventions
    ]


def auxiliary_step(problem, candidates: Tensor, eta: float) -> Response:
    """One step on −f_w(x_k), f_w the query's own class readout: f_y(q) rises by η K(q, k) (paper, Eq. 4)."""
    baseline = problem.query_logits
    raised = torch.nn.functional.one_hot(problem.query_labels, problem.classes).to(baseline.dtype)
    change = eta * problem.kernel(candidates)[:, :, None] * raised[:, None]
    return Response.closed_form(Part(baseline[:, None] + change, baseline))


def checkpoints(problem, process) -> list[Tensor]:
    """Weights after every `every` full-batch gradient steps of size η on L_D, from zero: each (D, C).

    The run without intervention; what it visits depends on η, so that η is also the weight of each
    checkpoint, as in TracIn.
    """

    def build() -> list[Tensor]:
        weights, kept = problem.x.new_zeros(problem.dimension, problem.classes), []
        for _ in range(process.checkpoints):
            for _ in range(process.every):
                weights = weights - process.eta * softmax.gradient(weights, problem.x, problem.y, problem.penalty)
            kept.append(weights)
        return kept

    return problem.memo("checkpoints", build, process)


def trajectory(problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """`trajectory`: one finite extra step on z_k at every checkpoint, the effects added up."""
    parts = []
    for weights in checkpoints(problem, process):
        options.check()
        parts.append(stepped(problem, candidates, process.eta, 1, weights))
    return [Response.closed_form(*parts) for _ in interventions]
