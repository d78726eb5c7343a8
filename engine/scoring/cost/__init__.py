"""How long a set of scorings will take, roughly: to decide between answering at once and queueing a job.

The guess counts floating-point operations; it only has to be right within a factor of two or so. Softmax
regression and networks count differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from engine.problems import ModuleProblem, Problem
from engine.scoring.cost import network, softmax
from engine.scoring.cost.kinds import is_optimum, is_searched, is_slow
from engine.scoring.scoring import Scoring


def guess(scorings: Sequence[Scoring], problem: Problem, candidates: int) -> float:
    """Estimated seconds on two CPU cores for so many candidates of a trained problem; of a softmax problem once its
    Hessian is factored."""
    scorings = [scoring for scoring in scorings if scoring.route.computes]
    sizes = {"n": problem.n, "queries": len(problem.queries), "candidates": candidates,
             "parameters": problem.parameters}
    if problem.linear:
        return softmax.seconds(scorings, **sizes)
    module = cast(ModuleProblem, problem)
    flops, reach = network.of_problem(module)
    recipe = module.recipe
    return network.seconds(scorings, flops=flops, reach=reach, outputs=len(module.raised_labels.unique()),
                           **({"epochs": recipe.epochs, "batch": recipe.examples_a_batch} if recipe else {"epochs": 0}),
                           **sizes)


def preparation(scorings: Sequence[Scoring], problem: Problem) -> tuple[str, float]:
    """(what the problem has to hold, as `Problem.holds` names it, estimated seconds until it does), before the first of
    these scorings; ("", 0) where nothing is missing."""
    if not problem.has_dense_hessian:
        return "", 0.0
    scorings = [scoring for scoring in scorings if scoring.route.computes]
    needed, seconds = softmax.preparation(scorings, problem.n, problem.parameters)
    return ("", 0.0) if not needed or problem.holds(needed) else (needed, seconds)


__all__ = ["guess", "is_optimum", "is_searched", "is_slow", "preparation"]
