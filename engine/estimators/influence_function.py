r"""Influence functions: −s_Bᵀ J (H + damping·I)⁻¹ ∇F_k(θ_D), one estimator for each inverse-Hessian solver.

For `infinitesimal` they approximate the exact local response by their solver; for a finite
upweighting, removal or relabelling they also linearise the re-optimisation (Koh and Liang, 2017).
"""

from __future__ import annotations

from engine.curvature import HESSIANS
from engine.curvature.network import NETWORK_HESSIANS
from engine.estimators.estimator import Estimator
from engine.exact.local_response import linear_responses
from engine.exact.network_response import DENSE
from engine.exact.network_response import linear_responses as network_responses
from engine.problems import SoftmaxProblem


def local_response(problem, interventions, process, candidates, options):
    if isinstance(problem, SoftmaxProblem):
        return linear_responses(HESSIANS["cholesky"].solve, problem, interventions, process, candidates, options)
    return network_responses(DENSE, problem, interventions, process, candidates, options)


def influence_function(name: str) -> Estimator:
    """The influence function that uses the solver of this name. Cholesky on `local_response` is `exact` itself."""
    solver = HESSIANS[name] if name in HESSIANS else NETWORK_HESSIANS[name]

    def respond(problem, interventions, process, candidates, options):
        if isinstance(problem, SoftmaxProblem):
            return linear_responses(HESSIANS[name].solve, problem, interventions, process, candidates, options)
        return network_responses(NETWORK_HESSIANS[name], problem, interventions, process, candidates, options)

    routes = {"reoptimize": respond, "retrain": respond}
    if not solver.exact:
        routes = {"local_response": respond, **routes}
    needs = ("curvature",) if name in HESSIANS and name in NETWORK_HESSIANS else (
        ("closed_form",) if name in HESSIANS else ("tangents",))
    return Estimator(
        name, f"inverse Hessian ({solver.title})", False,
        f"The optimum's linear response, times the size of the intervention; (H + damping)⁻¹ by {solver.title}.",
        solver.source, needs_gradient=True, routes=routes, needs=needs,
    )


INFLUENCE_FUNCTIONS = tuple(influence_function(name) for name in dict.fromkeys([*HESSIANS, *NETWORK_HESSIANS]))
