r"""Tail patch: does a training step on a ranking's top raise the query's probability? (Chang et al. 2024)

    tail patch(q) = 1/t Σ_{k ∈ top t of q} I_S(q, k),   S = (probability, one more occurrence, one step of η)

each proponent in a step of its own from the trained model. It asks one question exactly, so that the exact answer to
that question, and to no other, has the largest value that a ranking can have. Of a language model B is the mean
log-likelihood of the response per token.
"""

from __future__ import annotations

import numpy as np

from engine.analysis.scorecard.benchmark import Benchmark, Case, Measured
from engine.basics.options import Options
from engine.problems import Problem
from engine.question.behaviors import BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

ETA = 0.01
BEHAVIOR_OF = {"classes": "probability", "tokens": "response_loss"}
"""What a problem's behaviors read -> the behavior that a step should raise."""


def asks(behavior: str) -> Scoring:
    """The question that it asks of the problems that a behavior is read off."""
    return Scoring.of(BEHAVIOR_OF[BEHAVIORS[behavior].reads], {"kind": "add_occurrence"},
                      {"kind": "one_step", "eta": ETA})


def patched(problem: Problem, options: Options) -> np.ndarray:
    """I_S(q, k), (m, k): what a step on each candidate alone does to every query."""
    scoring = Scoring.of(BEHAVIOR_OF[problem.reads], {"kind": "add_occurrence"}, {"kind": "one_step", "eta": ETA})
    return compute(problem, scoring, options)[0].values


def mean_of_top(effects: np.ndarray, scores: np.ndarray, size: int) -> np.ndarray:
    """(m,): the mean effect (m, k) over the `size` candidates with the largest scores (m, k). NaN ranks last, and a
    query without a score has none."""
    top = np.argsort(-np.where(np.isnan(scores), -np.inf, scores), axis=1, kind="stable")[:, :size]
    return np.where(np.isnan(scores).all(1), np.nan, np.take_along_axis(effects, top, 1).mean(1))


def _tail_patch(case: Case) -> dict[str, Measured]:
    size = min(case.sizes.top, len(case.problem.candidates))
    effects = patched(case.problem, case.options.stage(0, 2))
    return {name: {f"top {size}": mean_of_top(effects, own, size)}
            for name, own in case.scores(case.problem, case.options.stage(1, 2)).items()}


TAIL_PATCH = Benchmark(
    "tail_patch", "Tail patch",
    "The change of the query's probability by one training step on a candidate, averaged over the top k of its own "
    "ranking.",
    "Which example raises this query's probability in one more training step?", "Chang et al. 2024", _tail_patch,
    asks, usual=False)
