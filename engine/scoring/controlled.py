"""The scorings of the controlled comparisons (Tables A-6 and A-7), which curves, presets and lessons share."""

from __future__ import annotations

from typing import Any

from engine.scoring.scoring import Scoring

ETAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
ETA, STEPS, DAMPING, ITERATIONS = 0.1, 5, 0.01, 20
SOLVER = "cg_gauss_newton"
"""The solver for a network that stochastic gradient descent has trained, whose Hessian is indefinite."""


def step_scoring(behavior: str, eta: float, estimator: str = "exact") -> Scoring:
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta}, estimator)


def unrolled_scoring() -> Scoring:
    return Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "unrolled", "eta": ETA, "steps": STEPS})


def response_scoring(behavior: str, damping: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "infinitesimal"}, {"kind": "local_response", "damping": damping})


def upweight_scoring(behavior: str, alpha: float, estimator: str = "exact") -> Scoring:
    return Scoring.of(behavior, {"kind": "upweight", "alpha": alpha}, {"kind": "reoptimize"}, estimator)


def removal_scoring(normalization: str) -> Scoring:
    return Scoring.of("query_loss", {"kind": "remove", "normalization": normalization}, {"kind": "reoptimize"})


def search_scoring(intervention: dict, behavior: str = "query_loss", damping: float = 0.0,
                   baseline: str = "factual", estimator: str = "exact") -> Scoring:
    """The paper's local re-optimisation of a network: some L-BFGS iterations on an intervened objective."""
    process = {"kind": "local_search", "iterations": ITERATIONS, "damping": damping, "baseline": baseline}
    return Scoring.of(behavior, intervention, process, estimator)


def upweighting(alpha: float) -> dict[str, Any]:
    return {"kind": "upweight", "alpha": alpha}


def response(behavior: str = "query_loss", solver: str = SOLVER) -> Scoring:
    """The damped inverse-Hessian response, by a solver that a network's Hessian allows."""
    exact = response_scoring(behavior, DAMPING)
    return Scoring.of(exact.behavior, exact.intervention, exact.process, solver)


def damped_removal(behavior: str, estimator: str = "exact") -> Scoring:
    """Removal, searched in the same way."""
    return search_scoring({"kind": "remove"}, behavior, DAMPING, "reoptimized", estimator)


def damped_upweighting(behavior: str, alpha: float, estimator: str = "exact") -> Scoring:
    """Upweighting, searched with damping and without the factual model's drift: what `response` approximates."""
    return search_scoring(upweighting(alpha), behavior, DAMPING, "reoptimized", estimator)
