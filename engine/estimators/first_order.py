r"""The first-order Taylor term of a step: −η · steps · s_B(q)ᵀ K(q, k) s_ℓ(z_k) (paper, Eq. 5 and 6).

On `one_step` this is gradient similarity; summed over the checkpoints of a `trajectory` it is TracIn. For softmax
regression K(q, k) = x_qᵀx_k; for a network the inner products of the gradients are formed layer by layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from engine.basics.options import Options
from engine.estimators import named
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator
from engine.estimators.held import Features, Linear, Term
from engine.exact.steps import accumulated_signal, kernel_noise
from engine.gradients.products import TrainingGradients
from engine.gradients.response import GradientPart, Part, Response
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question.interventions import Intervention
from engine.question.processes import OneStep, Trajectory, Unrolled


def steps(problem: Problem, interventions: Sequence[Intervention], process: OneStep | Unrolled, candidates: Tensor,
          options: Options) -> list[Response]:
    """First order in the total step size, which is η for one step and η · steps for several."""
    return [Response.closed_form(linearised(problem, candidates, process.eta * process.steps, None, options))
            for _ in interventions]


def trajectory(problem: Problem, interventions: Sequence[Intervention], process: Trajectory, candidates: Tensor,
               options: Options) -> list[Response]:
    """Σ_t −η_t ∇B(q; θ_t)ᵀ ∇ℓ(z_k; θ_t) over the checkpoints (Pruthi et al., 2020)."""
    parts = []
    for theta, eta in problem.checkpoints_of(process):
        options.check()
        parts.append(linearised(problem, candidates, eta, theta, options))
    return [Response.closed_form(*parts) for _ in interventions]


def _of_module(problem: ModuleProblem, candidates: Tensor, eta: float, theta: Tensor | None,
               options: Options) -> GradientPart:
    if theta is None:
        return along(problem, shared_gradients(problem, candidates, options), -eta)
    gradients = TrainingGradients(problem, candidates, theta, budget=options.budget // 4)
    return along(problem, gradients, -eta, problem.outputs(problem.queries, theta))


def _of_softmax(problem: SoftmaxProblem, candidates: Tensor, eta: float, theta: Tensor | None,
                options: Options) -> Part:
    """δf(q) = −η K(q, k) s_ℓ(z_k): a linear part (m, b, C)."""
    x = problem.x[candidates]
    signal = accumulated_signal(problem.outputs(x, theta), problem.y[candidates], x.square().sum(1), eta, 1)
    change = -eta * problem.kernel(candidates)[:, :, None] * signal
    return Part(change, problem.outputs(problem.queries, theta), linear=True,
                noise=kernel_noise(problem, candidates, theta, eta, signal))


linearised: Callable[..., Part | GradientPart] = by_form(_of_softmax, _of_module)
"""−η ⟨J_qᵀ s_B, ∇ℓ(z_k)⟩ of a problem, at θ (P,), by default θ_D, for candidates (b,)."""


def shared_gradients(problem: ModuleProblem, candidates: Tensor, options: Options) -> TrainingGradients:
    """The candidates' training gradients at θ_D, computed once for every behavior and estimator that reads them."""
    return problem.memo("training_gradients",
                        lambda: TrainingGradients(problem, candidates, budget=options.budget // 4),
                        tuple(candidates.tolist()))


def along(problem: ModuleProblem, gradients: TrainingGradients, scale: float,
          baseline: Tensor | None = None) -> GradientPart:
    """scale · ⟨J_qᵀ s_B, ∇ℓ(z_k)⟩ at the θ of `gradients`; baseline (m, C) are the query logits there."""
    return GradientPart(problem.query_logits if baseline is None else baseline,
                        lambda signal: scale * gradients.products(problem.queries, signal), len(gradients))


def pooled(problem: ModuleProblem, slopes: Tensor, process: OneStep | Unrolled, options: Options) -> Tensor:
    """−η · steps · u, (r, P)."""
    return -process.eta * process.steps * slopes


def last_held(features: Features, behavior: str) -> list[Term]:
    """−⟨∇B(q), ∇ℓ(z_k)⟩ at θ_D: GradSim. η, common to all, is left out."""
    return [Term(len(features.points) - 1, 1.0, features.last.queries[behavior], features.last.gradients)]


def all_held(features: Features, behavior: str) -> list[Term]:
    """−Σ_t η_t ⟨∇B(q; θ_t), ∇ℓ(z_k; θ_t)⟩: TracIn, η_t the learning rates that a checkpoint stands for."""
    return [Term(place, point.weight, point.queries[behavior], point.gradients)
            for place, point in enumerate(features.points)]


FIRST_ORDER = Estimator(
    "first_order", "first order", False,
    "The behavior's gradient times the step: the tangent at the trained model instead of the curve.",
    "paper, Eq. 5; Charpiat et al. 2019; Pruthi et al. 2020",
    needs_gradient=True,
    routes={"one_step": steps, "unrolled": steps, "trajectory": trajectory},
    needs=("gradients",),
    unfit_interventions=("auxiliary",),
    held={("add_occurrence", "one_step"): Linear(last_held), ("add_occurrence", "trajectory"): Linear(all_held)},
    named=(named.gradient("gradsim", "GradSim", "Charpiat et al. 2019",
                          note="Inner product of gradients at the end of training."),
           named.trajectory("tracin", "TracIn", "Pruthi et al. 2020",
                            note="GradSim summed over checkpoints, weighted by learning rates.")),
    cost=GRADIENTS, pooled={("add_occurrence", kind): pooled for kind in ("one_step", "unrolled")},
)
