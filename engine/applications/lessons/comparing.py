"""What the lessons read off two scores of one problem: which query tells most, and how far rankings agree."""

from __future__ import annotations

import numpy as np

from engine.metrics.agreement import pairwise, top_overlap
from engine.metrics.subsets import over_known
from engine.problems import SoftmaxProblem
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring


def step(behavior: str, eta: float = 0.1) -> Scoring:
    """One more occurrence of the example, in one step: the question from which most lessons start."""
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta})


def doubtful(problem: SoftmaxProblem) -> int:
    """The query whose label the model is least sure of: its probability is nearest to one half."""
    own = problem.query_logits.softmax(-1)[range(len(problem.queries)), problem.query_labels]
    return int((own - 0.5).abs().argmin())


def probability(problem: SoftmaxProblem, query: int) -> float:
    """The probability that the model gives a query's label."""
    return float(problem.query_logits[query].softmax(-1)[problem.query_labels[query]])


def mean_tau(a: Scores, b: Scores) -> float:
    """Kendall's τ, mean over queries, of candidates that both trust."""
    both = Together.of([a, b])
    found = over_known(lambda stack: {"tau": pairwise(stack, ["kendall"])["kendall"]}, both.stack, both.known)
    return float(np.nanmean(found["tau"][0, 1]))


def most_different(a: Scores, b: Scores, size: int) -> int:
    """The query at which both have the fewest of their first `size` candidates in common."""
    return int(top_overlap(a.oriented, b.oriented, size / len(a.candidates)).argmin())
