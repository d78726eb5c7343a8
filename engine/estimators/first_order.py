r"""The first-order Taylor term of a step: −η · steps · s_B(q)ᵀ K(q, k) s_ℓ(z_k) (paper, Eq. 5 and 6).

On `one_step` this is gradient similarity; summed over the checkpoints of a `trajectory` it is TracIn. For softmax
regression K(q, k) = x_qᵀx_k; for a network the inner products of the gradients are formed layer by layer.
"""

from __future__ import annotations

from torch import Tensor

from engine.basics.options import Options
from engine.estimators.estimator import Estimator
from engine.exact.network_steps import checkpoints as network_checkpoints
from engine.exact.response import GradientPart, Part, Response
from engine.exact.steps import accumulated_signal, checkpoints
from engine.gradients.products import TrainingGradients


def linearised(problem, candidates: Tensor, eta: float, weights: Tensor) -> Part:
    """δf(q) = −η K(q, k) s_ℓ(z_k) at `weights`: a linear part (m, b, C)."""
    x = problem.x[candidates]
    signal = accumulated_signal(x @ weights, problem.y[candidates], x.square().sum(1), eta, 1)
    change = -eta * problem.kernel(candidates)[:, :, None] * signal
    return Part(change, problem.queries @ weights, linear=True)


def steps(problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """First order in the total step size, which is η for one step and η · steps for several."""
    eta = process.eta * getattr(process, "steps", 1)
    return [Response.closed_form(linearised(problem, candidates, eta, problem.weights)) for _ in interventions]


def trajectory(problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """Σ_t −η s_B(q; θ_t)ᵀ K(q, k) s_ℓ(z_k; θ_t) over the checkpoints (Pruthi et al., 2020)."""
    parts = [linearised(problem, candidates, process.eta, weights) for weights in checkpoints(problem, process)]
    return [Response.closed_form(*parts) for _ in interventions]


def network_steps(problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """−η · steps · ⟨J_qᵀ s_B, ∇ℓ(z_k)⟩ at θ_D."""
    eta = process.eta * getattr(process, "steps", 1)
    part = along(problem, shared_gradients(problem, candidates, options), -eta)
    return [Response.closed_form(part) for _ in interventions]


def network_trajectory(problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """Σ_t −η_t ⟨J_qᵀ s_B, ∇ℓ(z_k)⟩ at θ_t, over the last checkpoints of the training run."""
    parts = []
    for theta, eta in network_checkpoints(problem, process):
        options.check()
        gradients = TrainingGradients(problem, candidates, theta, budget=options.budget // 4)
        parts.append(along(problem, gradients, -eta, problem.network.predict(problem.queries, theta)))
    return [Response.closed_form(*parts) for _ in interventions]


def shared_gradients(problem, candidates: Tensor, options: Options) -> TrainingGradients:
    """The candidates' training gradients at θ_D, computed once for every behavior and estimator that reads them."""
    return problem.memo("training_gradients",
                        lambda: TrainingGradients(problem, candidates, budget=options.budget // 4),
                        tuple(candidates.tolist()))


def along(problem, gradients: TrainingGradients, scale: float, baseline: Tensor | None = None) -> GradientPart:
    """scale · ⟨J_qᵀ s_B, ∇ℓ(z_k)⟩ at the θ of `gradients`; baseline (m, C) are the query logits there."""
    return GradientPart(problem.query_logits if baseline is None else baseline,
                        lambda signal: scale * gradients.products(problem.queries, signal), len(gradients))


FIRST_ORDER = Estimator(
    "first_order", "first order", False,
    "The behavior's gradient times the step: the tangent at the trained model instead of the curve.",
    "paper, Eq. 5; Charpiat et al. 2019; Pruthi et al. 2020",
    needs_gradient=True,
    routes={
        "softmax": {"one_step": steps, "unrolled": steps, "trajectory": trajectory},
        "module": {"one_step": network_steps, "unrolled": network_steps, "trajectory": network_trajectory},
    },
    unfit_interventions=("auxiliary",),
)
