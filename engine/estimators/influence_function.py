r"""Influence functions: −s_Bᵀ J (H + damping·I)⁻¹ ∇F_k(θ_D), one estimator for each inverse-Hessian solver.

For `infinitesimal` they approximate the exact local response by their solver; for a finite
upweighting, removal or relabelling they also linearise the re-optimisation (Koh and Liang, 2017), a local search or
the retraining: the linear response is that of the optimum, whichever of them looks for it.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from engine.basics.options import Options
from engine.basics.settings import Settings
from engine.curvature import SOLVERS, GaussNewton, InverseHessian
from engine.estimators.cost import Cost, products
from engine.estimators.estimator import NOTHING, Estimator
from engine.estimators.named import INFLUENCE, Named
from engine.exact.local_response import linear_responses
from engine.models.link import Link
from engine.problems import ModuleProblem, Problem
from engine.question.processes import LocalResponse


@dataclass(frozen=True, kw_only=True)
class InfluenceFunction(Estimator):
    """Serves the problems whose curvature its solver can do with."""

    solver: InverseHessian

    @property
    def short_title(self) -> str:
        return self.solver.title

    def configured(self, settings: Settings) -> InfluenceFunction:
        other = influence_function(self.solver.configured(settings))
        return replace(other, title=f"{self.title}, {settings.words}",
                       solver=replace(other.solver, title=f"{self.solver.title}, {settings.words}"))

    def serves(self, problem: Problem | type[Problem], more: Set[str] = NOTHING) -> bool:
        return self.solver.fits(problem)


def influence_function(solver: InverseHessian) -> InfluenceFunction:
    """The influence function that uses a solver. Cholesky on `local_response` is `exact` itself."""
    respond = partial(linear_responses, solver)
    routes = {"reoptimize": respond, "local_search": respond, "retrain": respond}
    if not solver.exact:
        routes = {"local_response": respond, **routes}
    return InfluenceFunction(
        solver.name, f"inverse Hessian ({solver.title})", False,
        f"The optimum's linear response, times the size of the intervention; (H + damping)⁻¹ by {solver.title}.",
        solver.source, routes=routes, solver=solver, settings=solver.settings,
        named=[Named(f"influence_function_{solver.name}", title, INFLUENCE, source, "infinitesimal", "local_response",
                     label="".join(label)) for title, source, *label in filter(None, [solver.known])],
        by_hessian=tuple(routes) if solver.iterates and GaussNewton not in solver.needs else (),
        pooled={} if solver.exact else {("infinitesimal", "local_response"): partial(pooled, solver)},
        cost=Cost(products(solver.products, Link.measured if solver.factored else None)),
    )


def pooled(solver: InverseHessian, problem: ModuleProblem, slopes: Tensor, process: LocalResponse, options: Options
           ) -> Tensor:
    """−(H + damping·I)⁻¹ u, (r, P): a solve a behavior in place of one a candidate. The scores are those of solves for
    candidates up to a solver's tolerance, and to the order in which it takes mini-batches."""
    return -solver.solution(solver.operator(problem, process.damping, options), slopes.T.contiguous()).T


INFLUENCE_FUNCTIONS = tuple(influence_function(solver) for solver in SOLVERS.values())
