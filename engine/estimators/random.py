"""Chance: a random number for each query and training example, drawn from the seed. It implies no specification."""

from __future__ import annotations

from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import NOTHING
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import baseline
from engine.gradients.response import Given, Term
from engine.problems import Problem
from engine.question.processes import OneStep


def chance(problem: Problem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """Numbers of `options.seed` for candidates (b,)."""
    return [Given(problem.random_scores(candidates, options.seed))]


RANDOM = Estimator("random", "random", False, "A random number for each query and training example.",
                   routes={"one_step": closed_form(chance)}, implies=False, cost=NOTHING,
                   named=(baseline("random", "Random", asks="Which training records does chance pick?",
                                   undivided="Chance reads no token."),))
