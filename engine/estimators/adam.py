r"""TracIn along Adam's updates: what LESS is without its lengths, and TracIn without its plain steps.

    −Σ_t η_t ⟨∇B(q; θ_t), Γ(z_k; θ_t)⟩,   Γ the update that Adam makes on z_k alone, out of the checkpoint's moments
"""

from __future__ import annotations

from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.gradients.response import Term
from engine.problems import Problem
from engine.question.departure import ADAM
from engine.question.processes import Trajectory


def trajectory(problem: Problem, process: Trajectory, candidates: Tensor, options: Options) -> list[Term]:
    """Of the checkpoints that the process visits. Raises `InvalidInput` where the training kept no moments."""
    return [problem.gradients(candidates, options, point).term(-eta, preconditioned=True)
            for point, eta in problem.checkpoints_of(process)]


ADAM_UPDATES = Estimator(
    "adam", "Adam's updates", False, "TracIn with the updates that Adam would make, not normalised.",
    "this program", needs=("moments",), routes={"trajectory": closed_form(trajectory)},
    departures={"add_occurrence": (ADAM,)}, cost=GRADIENTS,
)
