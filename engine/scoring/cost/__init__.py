"""How long a set of scorings will take, roughly: to decide between answering at once and queueing a job.

The guess counts floating-point operations; it only has to be right within a factor of two or so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.problems import ModuleProblem, SoftmaxProblem
from engine.scoring.cost import network, softmax
from engine.scoring.cost.kinds import is_optimum, is_slow
from engine.scoring.scoring import Scoring


def guess(scorings: Sequence[Scoring], problem, candidates: int) -> float:
    """Estimated seconds on two CPU cores for so many candidates of a trained problem; of a softmax problem once its
    Hessian is factored."""
    sizes = {"n": problem.n, "queries": len(problem.queries), "candidates": candidates,
             "parameters": problem.parameters}
    return GUESSES[problem.kind](scorings, problem, sizes)


def _softmax(scorings: Sequence[Scoring], problem, sizes: dict[str, int]) -> float:
    return softmax.seconds(scorings, **sizes)


def _network(scorings: Sequence[Scoring], problem, sizes: dict[str, int]) -> float:
    epochs = problem.recipe.epochs if problem.recipe else 0
    return network.seconds(scorings, flops=network.forward_flops(problem), epochs=epochs, **sizes)


GUESSES: dict[str, Callable[..., float]] = {SoftmaxProblem.kind: _softmax, ModuleProblem.kind: _network}

__all__ = ["guess", "is_optimum", "is_slow"]
