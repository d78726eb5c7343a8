r"""The first-order Taylor term of a step: −η · steps · ⟨∇B(q), ∇ℓ(z_k)⟩ (paper, Eq. 5 and 6).

On `one_step` this is gradient similarity; summed over the checkpoints of a `trajectory` it is TracIn.
"""

from __future__ import annotations

from torch import Tensor

from engine.basics.options import Options
from engine.estimators import named
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.gradients.response import Term
from engine.problems import ModuleProblem, Problem
from engine.question.processes import OneStep, Trajectory, Unrolled


def steps(problem: Problem, process: OneStep | Unrolled, candidates: Tensor, options: Options) -> list[Term]:
    """First order in the total step size, which is η for one step and η · steps for several."""
    return [problem.gradients(candidates, options).term(-process.eta * process.steps)]


def trajectory(problem: Problem, process: Trajectory, candidates: Tensor, options: Options) -> list[Term]:
    """Σ_t −η_t ∇B(q; θ_t)ᵀ ∇ℓ(z_k; θ_t) over the checkpoints (Pruthi et al., 2020)."""
    return [problem.gradients(candidates, options, point).term(-eta) for point, eta in problem.checkpoints_of(process)]


def pooled(problem: ModuleProblem, slopes: Tensor, process: OneStep | Unrolled, options: Options) -> Tensor:
    """−η · steps · u, (r, P)."""
    return -process.eta * process.steps * slopes


FIRST_ORDER = Estimator(
    "first_order", "first order", False,
    "The behavior's gradient times the step: the tangent at the trained model instead of the curve.",
    "paper, Eq. 5; Charpiat et al. 2019; Pruthi et al. 2020",
    routes={"one_step": closed_form(steps), "unrolled": closed_form(steps), "trajectory": closed_form(trajectory)},
    needs=("gradients",),
    unfit_interventions=("auxiliary",),
    named=(named.gradient("gradsim", "GradSim", "Charpiat et al. 2019",
                          note="Inner product of gradients at the end of training."),
           named.trajectory("tracin", "TracIn", "Pruthi et al. 2020",
                            note="GradSim summed over checkpoints, weighted by learning rates.")),
    cost=GRADIENTS, pooled={("add_occurrence", kind): pooled for kind in ("one_step", "unrolled")},
)
