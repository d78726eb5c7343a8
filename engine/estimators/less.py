r"""LESS: TracIn with Adam's updates in place of gradients, both sides at length one (Xia et al. 2024).

    −Σ_t η_t cos(∇B(q; θ_t), Γ(z_k; θ_t)),   Γ the update that Adam makes on z_k alone, out of the checkpoint's moments

Γ is `engine.models.adam.adam_update`. It answers another question than a trajectory of plain steps: that of
steps along Γ, each scaled to length one.
"""

from __future__ import annotations

from torch import Tensor

from engine.basics.options import Options
from engine.estimators import named
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.gradients.response import Term
from engine.problems import Problem
from engine.question.departure import ADAM, NORMALISED
from engine.question.processes import Trajectory


def trajectory(problem: Problem, process: Trajectory, candidates: Tensor, options: Options) -> list[Term]:
    """Of the checkpoints that the process visits. Raises `InvalidInput` where the training kept no moments."""
    return [problem.gradients(candidates, options, point).term(-eta, normalised=True, preconditioned=True)
            for point, eta in problem.checkpoints_of(process)]


LESS = Estimator(
    "less", "LESS", False,
    "TracIn with the updates that Adam would make, both sides normalised to unit norm.",
    "Xia et al. 2024", needs=("moments",), routes={"trajectory": closed_form(trajectory)},
    departures={"add_occurrence": (ADAM, NORMALISED)},
    named=(named.trajectory("less", "LESS", "Xia et al. 2024", behavior="response_loss"),), cost=GRADIENTS,
)
