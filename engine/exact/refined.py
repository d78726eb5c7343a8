r"""A problem whose factual model is where iterations of L-BFGS on its own objective lead from θ_D.

Stochastic gradient descent stops where the gradient of the whole objective is not small. The code behind the paper
refines its CNN by 100 such iterations on all training examples before it searches from there (`local_search`).
"""

from __future__ import annotations

from dataclasses import replace

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.intervened import intervened
from engine.exact.lbfgs import minimise
from engine.problems import ModuleProblem
from engine.question.change import Change


def refined(problem: ModuleProblem, iterations: int, options: Options | None = None) -> ModuleProblem:
    """The problem at θ after so many iterations on L_D(θ) from θ_D, in float64, without damping.

    Kept with the problem. It is no more where its recipe leads: it cannot be retrained, and has no checkpoints. Raises
    `InvalidInput` where the iterations leave the finite numbers.
    """
    options = replace(options or Options(), precision="float64")
    moved = problem.of_model(f"refined {iterations}", lambda: _moved(problem, iterations, options))
    return moved.with_candidates_of(problem)


def _moved(problem: ModuleProblem, iterations: int, options: Options) -> ModuleProblem:
    family = intervened(problem, 0.0, options)
    minimum = minimise(family.objective([0], Change()).evaluate, family.start, iterations=iterations, tolerance=0.0)
    if not minimum.finite:
        raise InvalidInput("Refining the model diverged; train it with a smaller learning rate.")
    return problem.with_module(problem.network.moved(minimum.theta).module, problem.trained_examples, recipe=None,
                               build=None, dtype="float64")
