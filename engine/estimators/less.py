r"""LESS: TracIn with Adam's updates in place of gradients, both sides at length one (Xia et al. 2024).

    −Σ_t η_t cos(∇B(q; θ_t), Γ(z_k; θ_t)),   Γ the update that Adam makes on z_k alone, out of the checkpoint's moments

Γ is `engine.models.causal.recipe.adam_update`. It answers another question than a trajectory of plain steps: that of
steps along Γ, each scaled to length one.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.estimators import named
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator
from engine.estimators.held import Features, Linear, Term, normalised
from engine.gradients.checkpoint import Checkpoint
from engine.gradients.per_example import loss_gradients
from engine.gradients.products import products_with, query_norms
from engine.gradients.response import GradientPart, Response
from engine.models.causal.recipe import adam_update
from engine.problems import CausalProblem
from engine.question.departure import ADAM, NORMALISED
from engine.question.interventions import Intervention
from engine.question.processes import Trajectory


def trajectory(problem: CausalProblem, interventions: Sequence[Intervention], process: Trajectory, candidates: Tensor,
               options: Options) -> list[Response]:
    """One response an intervention, of the checkpoints that the process visits.

    Raises `InvalidInput` where the training kept no moments.
    """
    parts = []
    for point, eta in problem.visited(process):
        options.check()
        parts.append(_part(problem, point, eta, updates(problem, point, candidates, options), options))
    return [Response.closed_form(*parts) for _ in interventions]


def updates(problem: CausalProblem, point: Checkpoint, rows: Tensor, options: Options) -> Tensor:
    """Γ(z_k; θ_t) of training examples (b,): (b, P)."""
    if point.first is None or point.second is None:
        raise InvalidInput("LESS reads the moments of Adam, which this model's training did not keep; train it with a "
                           "recipe that fine-tunes, or use `first_order`.")
    gradients = loss_gradients(problem, rows, point.theta, options.budget // 4, check=options.check)
    return adam_update(gradients, point.first, point.second, point.steps)


def _part(problem: CausalProblem, point: Checkpoint, eta: float, moved: Tensor, options: Options) -> GradientPart:
    tiny = torch.finfo(moved.dtype).tiny
    directions = torch.nn.functional.normalize(moved, eps=tiny)

    def products(signal: Tensor) -> Tensor:
        found = products_with(problem, problem.queries, signal, directions, point.theta, options.budget // 4)
        return -eta * found / query_norms(problem, problem.queries, signal, point.theta)[:, None].clamp_min(tiny)

    return GradientPart(problem.outputs(problem.queries, point.theta), products, len(moved))


def held(features: Features, behavior: str) -> list[Term]:
    """−η_t cos(∇B(q; θ_t), Γ(z_k; θ_t)) of every checkpoint, η_t the learning rates that it stands for."""
    return [Term(place, point.weight, normalised(point.queries[behavior]), normalised(point.conditioned))
            for place, point in enumerate(features.points)]


LESS = Estimator(
    "less", "LESS", False,
    "TracIn with the updates that Adam would make, both sides scaled to length one.",
    "Xia et al. 2024", needs_gradient=True, needs=("moments",), routes={"trajectory": trajectory},
    departures={"add_occurrence": (ADAM, NORMALISED)},
    held={("add_occurrence", "trajectory"): Linear(held, conditioned=True)},
    named=(named.trajectory("less", "LESS", "Xia et al. 2024", behavior="response_loss"),), cost=GRADIENTS,
)
