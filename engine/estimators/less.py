r"""LESS: TracIn with Adam's updates in place of gradients, both sides at length one (Xia et al. 2024).

    −Σ_t η_t cos(∇B(q; θ_t), Γ(z_k; θ_t)),   Γ the update that Adam makes on z_k alone, out of the checkpoint's moments

Γ is `engine.models.causal.recipe.adam_update`. It answers another question than a trajectory of plain steps: that of
steps along Γ, each scaled to length one.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from engine.basics.options import Options
from engine.estimators import named
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator
from engine.gradients.response import Response
from engine.problems import Problem
from engine.question.departure import ADAM, NORMALISED
from engine.question.interventions import Intervention
from engine.question.processes import Trajectory


def trajectory(problem: Problem, interventions: Sequence[Intervention], process: Trajectory, candidates: Tensor,
               options: Options) -> list[Response]:
    """One response an intervention, of the checkpoints that the process visits.

    Raises `InvalidInput` where the training kept no moments.
    """
    terms = []
    for point, eta in problem.checkpoints_of(process):
        options.check()
        gradients = problem.gradients(candidates, options, point)
        terms.append(gradients.term(-eta, normalised=True, preconditioned=True))
    return [Response.closed_form(*terms) for _ in interventions]


LESS = Estimator(
    "less", "LESS", False,
    "TracIn with the updates that Adam would make, both sides scaled to length one.",
    "Xia et al. 2024", needs_gradient=True, needs=("moments",), routes={"trajectory": trajectory},
    departures={"add_occurrence": (ADAM, NORMALISED)},
    named=(named.trajectory("less", "LESS", "Xia et al. 2024", behavior="response_loss"),), cost=GRADIENTS,
)
