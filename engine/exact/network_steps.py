r"""Exact step responses of a network: the parameters are moved, and every query is evaluated where they end.

    one_step, unrolled   θ^(0) = θ_D,  θ^(t+1) = θ^(t) − η ∇ℓ(z_k; θ^(t))          (paper, Eq. 5)
    trajectory           one such step of size η·lr_t / max lr from every checkpoint θ_t, the effects added up
                         (Pruthi et al., 2020; there as first-order terms)
    auxiliary            one step on −f_w(x_k) of the last layer w, on the frozen representation φ (paper, Eq. 3, 4)

The steps move the selected parameters on z_k's own loss, without the penalty. A candidate costs one pass over the
queries, whatever the number of behaviors. Candidates are taken one by one: a map over their stacked parameters turns
convolutions into grouped ones, which on the CNN of Appendix A-1 took up to twice as long.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.network_passes import loss_and_gradient, query_logits
from engine.exact.response import Part, Response


def unrolled(problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """`one_step` and `unrolled`: finite steps on z_k itself, or on the label-free loss −f_w(x_k)."""
    steps = getattr(process, "steps", 1)
    return [
        auxiliary_step(problem, candidates, process.eta) if intervention.kind == "auxiliary"
        else Response.closed_form(stepped(problem, candidates, process.eta, steps, problem.theta, options))
        for intervention in interventions
    ]


def stepped(problem, candidates: Tensor, eta: float, steps: int, theta: Tensor, options: Options,
            share: tuple[float, float] = (0.0, 1.0)) -> Part:
    """The query logits after `steps` steps of size η on each candidate (b,) alone, from θ (P,): a finite part.

    share: from where to where the progress goes that is told.
    """
    baseline = query_logits(problem, theta)
    logits = baseline.new_empty(len(baseline), len(candidates), problem.classes)
    start, end = share
    for place, row in enumerate(candidates.split(1)):
        moved = theta
        for _ in range(steps):
            options.check()
            moved = moved - eta * loss_and_gradient(problem, moved, problem.x[row], problem.y[row])[1]
        logits[:, place] = query_logits(problem, moved)
        options.progress(start + (end - start) * (place + 1) / len(candidates))
    return Part(logits, baseline)


def auxiliary_step(problem, candidates: Tensor, eta: float) -> Response:
    """One step on −f_w(x_k), f_w the query's own row of the last layer: f_y(q) rises by η⟨φ(q), φ(x_k)⟩.

    φ is what the last layer reads, with a 1 appended where it has a bias. Raises `InvalidInput` where the logits
    are not linear in it.
    """
    network = problem.network
    features = network.features(problem.queries)
    _check_readout(problem, features)
    baseline = problem.query_logits
    raised = one_hot(problem.query_labels, problem.classes).to(baseline.dtype)
    similarity = features @ network.features(problem.x[candidates]).T
    return Response.closed_form(Part(baseline[:, None] + eta * similarity[:, :, None] * raised[:, None], baseline))


def _check_readout(problem, features: Tensor) -> None:
    layer = problem.network.module.get_submodule(problem.network.readout)
    weight = layer.weight if layer.bias is None else torch.cat([layer.weight, layer.bias[:, None]], 1)
    found, expected = features @ weight.T if features.shape[1] == weight.shape[1] else None, problem.query_logits
    if found is None or found.shape != expected.shape or not torch.allclose(found, expected, rtol=1e-3, atol=1e-3):
        raise InvalidInput("The logits are not the output of the model's last linear layer, so the auxiliary step on "
                           "that layer says nothing of them; use the intervention `add_occurrence`.")


def checkpoints(problem, process) -> list[tuple[Tensor, float]]:
    """The problem's last `process.checkpoints` checkpoints as (θ_t (P,), step size η·lr_t / max lr of the run).

    `process.every` belongs to problems that are trained for the purpose; here the checkpoints are those that the
    training run kept. Raises `InvalidInput` where there are fewer.
    """
    kept = problem.checkpoints
    if len(kept) < process.checkpoints:
        raise InvalidInput(f"The process asks for {process.checkpoints} checkpoints, and the problem has {len(kept)}; "
                           "train with more `checkpoints` in the recipe, or ask for fewer.")
    top = max(checkpoint.learning_rate for checkpoint in kept)
    return [(checkpoint.theta.to(problem.theta), process.eta * checkpoint.learning_rate / top)
            for checkpoint in kept[-process.checkpoints:]]


def trajectory(problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """`trajectory`: one finite extra step on z_k at every checkpoint, the effects added up."""
    points = checkpoints(problem, process)
    parts = [stepped(problem, candidates, eta, 1, theta, options, (place / len(points), (place + 1) / len(points)))
             for place, (theta, eta) in enumerate(points)]
    return [Response.closed_form(*parts) for _ in interventions]
