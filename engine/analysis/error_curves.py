r"""Approximation error along one parameter: the same estimand, computed exactly and by its approximation.

Over η: the first-order Taylor term against the exact step, for every differentiable behavior.
Over α: the inverse-Hessian response against the re-optimised optimum, for every solver. That response is linear in
α, so it is solved for once, at α = 1, and scaled. A network's optimum is the one nearby: with damping, and without
the drift of a factual model that is at no optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import InverseHessian, solvers_for
from engine.estimators import ESTIMATORS
from engine.metrics.agreement import METRICS, pairwise, summarize
from engine.metrics.subsets import over_known
from engine.problems import PROBLEMS, Problem, SoftmaxProblem
from engine.question.behaviors import BEHAVIORS, reading
from engine.scoring.compute import compute
from engine.scoring.controlled import ALPHAS, ETAS, damped_upweighting, step_scoring, upweight_scoring
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring

__all__ = ["ALPHAS", "ETAS", "agreement", "alpha_scorings", "alphas", "at_alpha", "differentiable", "eta_scorings",
           "series", "solver_scoring", "solvers", "step_agreement", "step_pair", "summary", "upweighted"]

SOFTMAX = SoftmaxProblem.kind
SEARCHED = "cg_gauss_newton"
"""The solver that meets its tolerance at a model that is at no optimum."""

HALFWAY = (3.2e-5, 3.2e-4, 3.2e-3, 3.2e-2)

PerQuery = Mapping[str, np.ndarray]


def differentiable(kind: str = SOFTMAX) -> tuple[str, ...]:
    """The behaviors of a kind of problem that have a gradient, and so a first-order approximation."""
    return tuple(name for name in reading(PROBLEMS[kind].reads) if BEHAVIORS[name].differentiable)


def series(behavior: str | None, kind: str = SOFTMAX) -> tuple[str, ...]:
    """The behaviors whose curves come out of one run with that of `behavior`: all registered ones together (None: any
    of them), one that carries a user's words by itself."""
    if behavior is not None and BEHAVIORS[behavior].words:
        return (behavior,)
    return differentiable(kind)


def step_pair(behavior: str, eta: float) -> tuple[Scoring, Scoring]:
    """One exact step of size η, and its first-order term."""
    return step_scoring(behavior, eta), step_scoring(behavior, eta, "first_order")


def step_agreement(problem: Problem, eta: float, behaviors: Sequence[str] | None = None) -> dict[str, PerQuery]:
    """behavior -> metric -> (m,): first order against exact over all candidates, at one step size."""
    behaviors = tuple(behaviors or differentiable(problem.kind))
    scores = compute(problem, [scoring for behavior in behaviors for scoring in step_pair(behavior, eta)],
                     Options().beside_exact)
    return {behavior: agreement(scores[2 * index], scores[2 * index + 1]) for index, behavior in enumerate(behaviors)}


def solvers(kind: str = SOFTMAX) -> dict[str, InverseHessian]:
    """The solvers of the curves over α; for a network those that can do with an indefinite Hessian."""
    offered = solvers_for(PROBLEMS[kind])
    if PROBLEMS[kind].convex:
        return offered
    left_out = {"cg", SEARCHED}
    names = [SEARCHED, *(name for name in offered if name not in left_out
                         and ESTIMATORS[name].offered(PROBLEMS[kind], "local_search"))]
    return {name: offered[name] for name in names}


def alphas(kind: str = SOFTMAX) -> tuple[float, ...]:
    """The grid over α: where an optimum is quickly found, with a point halfway between two decades, so that one can
    read between them."""
    return tuple(sorted({*ALPHAS, *HALFWAY})) if PROBLEMS[kind].convex else ALPHAS


def upweighted(behavior: str, alpha: float, kind: str = SOFTMAX) -> Scoring:
    """Upweighting by α, re-optimised; for a network, searched nearby."""
    return _question(kind)(behavior, alpha)


def solver_scoring(behavior: str, solver: str, alpha: float = 1.0, kind: str = SOFTMAX) -> Scoring:
    """The inverse-Hessian approximation of upweighting by α, with one solver."""
    return _question(kind)(behavior, alpha, solver)


def _question(kind: str) -> Callable[..., Scoring]:
    """(behavior, α, estimator) -> what is asked; where there are several optima, of a search nearby."""
    return upweight_scoring if PROBLEMS[kind].convex else damped_upweighting


def alpha_scorings(grid: Sequence[float] | None = None, kind: str = SOFTMAX,
                   behaviors: Sequence[str] | None = None) -> list[Scoring]:
    """All that the α curves of one draw need: every behavior (default: all registered ones) re-optimised at every α of
    the grid (default: `alphas(kind)`), and every solver at α = 1."""
    behaviors = differentiable(kind) if behaviors is None else behaviors
    grid = alphas(kind) if grid is None else grid
    exact = [upweighted(behavior, alpha, kind) for alpha in grid for behavior in behaviors]
    return exact + [solver_scoring(behavior, solver, kind=kind) for solver in solvers(kind) for behavior in behaviors]


def eta_scorings(kind: str = SOFTMAX, behaviors: Sequence[str] | None = None) -> list[Scoring]:
    """All that the η curves of one draw need: every behavior (default: all registered ones) after every step, exactly
    and to first order."""
    behaviors = differentiable(kind) if behaviors is None else behaviors
    return [scoring for eta in ETAS for behavior in behaviors for scoring in step_pair(behavior, eta)]


def at_alpha(scores: Scores, alpha: float) -> Scores:
    """Inverse-Hessian scores solved at α = 1, as they are at another α. Raises `InvalidInput` for other scores."""
    intervention = scores.scoring.intervention
    if scores.scoring.exact or intervention.kind != "upweight":
        raise InvalidInput("Only the inverse-Hessian response to upweighting is linear in α.")
    old = scores.scoring
    scoring = Scoring.of(old.behavior, {"kind": "upweight", "alpha": alpha}, old.process, old.estimator)
    question = {"spec": scoring.canonical(), "digest": scoring.digest, "question": scoring.question,
                "orientation": scoring.orientation}
    ratio = alpha / intervention.alpha
    error = None if scores.error is None else scores.error * abs(ratio)
    return replace(scores, scoring=scoring, values=scores.values * ratio, error=error,
                   provenance={**scores.provenance, **question})


def agreement(exact: Scores, approximate: Scores) -> dict[str, np.ndarray]:
    """metric -> (m,), over the candidates that converged on both sides, of each query those that take part.

    Raises `InvalidInput` where there is none.
    """
    both = Together.of([exact, approximate])
    if not both.converged.any():
        raise InvalidInput("No candidate has a usable score on both sides; raise l2 or the damping, or lower α.")
    measured = over_known(partial(pairwise, metrics=tuple(METRICS)), both.stack, both.known, both.signs)
    return {metric: values[0, 1] for metric, values in measured.items()}


def summary(seeds: Sequence[PerQuery]) -> list[dict]:
    """One row a metric: mean over queries, then seeds, with the 95% t-interval over seeds (NaN for one seed)."""
    rows = []
    for metric in METRICS:
        mean = summarize([seed[metric] for seed in seeds])
        rows.append({"metric": metric, **mean.columns, "n_seeds": mean.n_seeds, "per_seed": mean.per_seed})
    return rows
