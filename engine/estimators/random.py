"""Chance: a random number for each query and training example, drawn from the seed. It implies no specification."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import NOTHING
from engine.estimators.estimator import Estimator
from engine.estimators.named import baseline
from engine.gradients.response import Given, Response
from engine.problems import Problem
from engine.question.interventions import Intervention
from engine.question.processes import OneStep


def respond(problem: Problem, interventions: Sequence[Intervention], process: OneStep, candidates: Tensor,
            options: Options) -> list[Response]:
    """Numbers of `options.seed` for candidates (b,)."""
    return [Response.closed_form(Given(problem.random_scores(candidates, options.seed))) for _ in interventions]


RANDOM = Estimator("random", "random", False, "A random number for each query and training example.",
                   routes={"one_step": respond}, implies=False, cost=NOTHING,
                   named=(baseline("random", "Random", asks="Which training records does chance pick?",
                                   undivided="Chance reads no token."),))
