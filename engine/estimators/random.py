"""Chance: a normal number for each query and training example, drawn from the seed. It implies no specification.

A training example has its own stream, so that its numbers do not depend on which others are scored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import NOTHING
from engine.estimators.estimator import Estimator
from engine.estimators.held import NOWHERE, Features, Undivided
from engine.estimators.named import baseline
from engine.gradients.response import Response
from engine.problems import Problem
from engine.question.interventions import Intervention
from engine.question.processes import OneStep

STREAM = 7
"""Sets the held numbers apart from all else that a seed draws."""


def respond(problem: Problem, interventions: Sequence[Intervention], process: OneStep, candidates: Tensor,
            options: Options) -> list[Response]:
    """Numbers of `options.seed` for candidates (b,)."""
    columns = [np.random.Generator(np.random.Philox(key=[options.seed, row])).standard_normal(len(problem.queries))
               for row in candidates.tolist()]
    values = torch.from_numpy(np.stack(columns, 1)).to(problem.device)
    return [Response.given(values) for _ in interventions]


def held(features: Features, behavior: str) -> np.ndarray:
    """A number in [0, 1) for each record, the same for every query, as the studies of language models draw it."""
    drawn = np.random.default_rng([features.seed, STREAM]).random(len(features.norms), dtype=np.float32)
    return np.broadcast_to(drawn, features.shape)


RANDOM = Estimator("random", "random", False, "A random number for each query and training example.",
                   routes={"one_step": respond}, implies=False, cost=NOTHING,
                   named=(baseline("random", "Random", asks="Which training records does chance pick?"),),
                   held={NOWHERE: Undivided(held, "Chance reads no token.")})
