r"""The first-order Taylor term of a step: −η · steps · s_B(q)ᵀ K(q, k) s_ℓ(z_k) (paper, Eq. 5 and 6).

On `one_step` this is gradient similarity; summed over the checkpoints of a `trajectory` it is TracIn.
"""

from __future__ import annotations

from torch import Tensor

from engine.estimators.estimator import Estimator
from engine.exact.response import Options, Part, Response
from engine.exact.steps import accumulated_signal, checkpoints


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


FIRST_ORDER = Estimator(
    "first_order", "first order", False,
    "The behavior's gradient times the step: the tangent at the trained model instead of the curve.",
    "paper, Eq. 5; Charpiat et al. 2019; Pruthi et al. 2020",
    needs_gradient=True,
    routes={"softmax": {"one_step": steps, "unrolled": steps, "trajectory": trajectory}},
    unfit_interventions=("auxiliary",),
)
