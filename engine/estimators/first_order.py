r"""The first-order Taylor term of a step: −η · steps · ⟨∇B(q), ∇ℓ(z_k)⟩ (paper, Eq. 5 and 6).

On `one_step` this is gradient similarity; summed over the checkpoints of a `trajectory` it is TracIn.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from engine.basics.options import Options
from engine.estimators import named
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator
from engine.gradients.response import Response
from engine.problems import ModuleProblem, Problem
from engine.question.interventions import Intervention
from engine.question.processes import OneStep, Trajectory, Unrolled


def steps(problem: Problem, interventions: Sequence[Intervention], process: OneStep | Unrolled, candidates: Tensor,
          options: Options) -> list[Response]:
    """First order in the total step size, which is η for one step and η · steps for several."""
    gradients = problem.gradients(candidates, options)
    return [Response.closed_form(gradients.term(-process.eta * process.steps)) for _ in interventions]


def trajectory(problem: Problem, interventions: Sequence[Intervention], process: Trajectory, candidates: Tensor,
               options: Options) -> list[Response]:
    """Σ_t −η_t ∇B(q; θ_t)ᵀ ∇ℓ(z_k; θ_t) over the checkpoints (Pruthi et al., 2020)."""
    terms = []
    for point, eta in problem.checkpoints_of(process):
        options.check()
        terms.append(problem.gradients(candidates, options, point).term(-eta))
    return [Response.closed_form(*terms) for _ in interventions]


def pooled(problem: ModuleProblem, slopes: Tensor, process: OneStep | Unrolled, options: Options) -> Tensor:
    """−η · steps · u, (r, P)."""
    return -process.eta * process.steps * slopes


FIRST_ORDER = Estimator(
    "first_order", "first order", False,
    "The behavior's gradient times the step: the tangent at the trained model instead of the curve.",
    "paper, Eq. 5; Charpiat et al. 2019; Pruthi et al. 2020",
    needs_gradient=True,
    routes={"one_step": steps, "unrolled": steps, "trajectory": trajectory},
    needs=("gradients",),
    unfit_interventions=("auxiliary",),
    named=(named.gradient("gradsim", "GradSim", "Charpiat et al. 2019",
                          note="Inner product of gradients at the end of training."),
           named.trajectory("tracin", "TracIn", "Pruthi et al. 2020",
                            note="GradSim summed over checkpoints, weighted by learning rates.")),
    cost=GRADIENTS, pooled={("add_occurrence", kind): pooled for kind in ("one_step", "unrolled")},
)
