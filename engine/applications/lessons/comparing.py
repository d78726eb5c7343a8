"""What the lessons read off two scores of one problem: which query tells most, and how far rankings agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from engine.metrics.agreement import pairwise, top_overlap
from engine.metrics.subsets import over_known
from engine.problems import Problem, SoftmaxProblem
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring


def step(behavior: str, eta: float = 0.1) -> Scoring:
    """One more occurrence of the example, in one step: the question from which most lessons start."""
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta})


def doubtful(problem: Problem) -> int:
    """The query whose label the model is least sure of: its probability is nearest to one half."""
    own = problem.query_logits.softmax(-1)[range(len(problem.queries)), problem.query_labels]
    return int((own - 0.5).abs().argmin())


def probability(problem: Problem, query: int) -> float:
    """The probability that the model gives a query's label."""
    return float(problem.query_logits[query].softmax(-1)[problem.query_labels[query]])


def regression(problem: Problem) -> SoftmaxProblem:
    """The problem of the lessons, as the softmax regression that it is."""
    assert isinstance(problem, SoftmaxProblem), "no lesson is about another model"
    return problem


def similarity(problem: Problem, query: int) -> np.ndarray:
    """⟨x_q, x_k⟩ of a query with each candidate, (k,)."""
    return regression(problem).kernel(problem.candidates)[query].cpu().numpy()


def mean_tau(a: Scores, b: Scores) -> float:
    """Kendall's τ, mean over queries, of candidates that both trust."""
    both = Together.of([a, b])
    means = over_known(lambda stack: {"tau": pairwise(stack, ["kendall"])["kendall"]}, both.stack, both.known)
    return float(np.nanmean(means["tau"][0, 1]))


@dataclass(frozen=True)
class LessonAgreement:
    """Means over queries. tau: Kendall's τ; sizes: τ of |scores|; signs: how many scores have the same sign, as a
    fraction."""

    tau: float
    sizes: float
    signs: float


def agreement(a: Scores, b: Scores) -> LessonAgreement:
    """Of candidates that both trust."""
    both = Together.of([a, b])

    def compared(stack: np.ndarray) -> dict[str, np.ndarray]:
        means = pairwise(stack, ["kendall", "sign"])
        return {"tau": means["kendall"], "signs": means["sign"], "sizes": pairwise(abs(stack), ["kendall"])["kendall"]}

    means = over_known(compared, both.stack, both.known)
    return LessonAgreement(**{name: float(np.nanmean(values[0, 1])) for name, values in means.items()})


def shared(a: Scores, b: Scores, size: int) -> np.ndarray:
    """How many of their first `size` candidates both have in common, (m,)."""
    return np.rint(size * top_overlap(a.oriented, b.oriented, size / len(a.candidates))).astype(int)


def pushed(problem: Problem, query: int, eta: float) -> np.ndarray:
    """What one step on −f_y(x_k) of every candidate, y the query's label, does to the query's logit f_y, (k,): the
    weights are moved, W' = W + η x_k e_yᵀ, and the logits of both models subtracted."""
    problem = regression(problem)
    x, label, change = problem.queries[query], problem.query_labels[query], []
    before = (x @ problem.weights)[label]
    for row in problem.candidates:
        moved = problem.weights.clone()
        moved[:, label] += eta * problem.x[row]
        change.append((x @ moved)[label] - before)
    return torch.stack(change).cpu().numpy()


def most_different(a: Scores, b: Scores, size: int) -> int:
    """The query at which both have the fewest of their first `size` candidates in common."""
    return int(top_overlap(a.oriented, b.oriented, size / len(a.candidates)).argmin())
