r"""Influence functions: −s_Bᵀ J (H + damping·I)⁻¹ ∇F_k(θ_D), one estimator for each inverse-Hessian solver.

For `infinitesimal` they approximate the exact local response by their solver; for a finite
upweighting, removal or relabelling they also linearise the re-optimisation (Koh and Liang, 2017).
"""

from __future__ import annotations

from functools import partial

from engine.curvature import HESSIANS
from engine.curvature.network import NETWORK_HESSIANS
from engine.estimators.estimator import Estimator
from engine.exact.local_response import linear_responses
from engine.exact.network_response import linear_responses as network_responses


def influence_function(name: str) -> Estimator:
    """The influence function that uses the solver of this name. Cholesky on `local_response` is `exact` itself."""
    routes = {}
    for kind, (solvers, responses_of) in KINDS.items():
        if name in solvers:
            respond = responses_of(solvers[name])
            routes[kind] = {"reoptimize": respond, "retrain": respond}
            if not solvers[name].exact:
                routes[kind] = {"local_response": respond, **routes[kind]}
    solver = HESSIANS[name] if name in HESSIANS else NETWORK_HESSIANS[name]
    return Estimator(
        name, f"inverse Hessian ({solver.title})", False,
        f"The optimum's linear response, times the size of the intervention; (H + damping)⁻¹ by {solver.title}.",
        solver.source, needs_gradient=True, routes=routes,
    )


KINDS = {"softmax": (HESSIANS, lambda solver: partial(linear_responses, solver.solve)),
         "module": (NETWORK_HESSIANS, lambda solver: partial(network_responses, solver))}
INFLUENCE_FUNCTIONS = tuple(influence_function(name) for name in dict.fromkeys([*HESSIANS, *NETWORK_HESSIANS]))
