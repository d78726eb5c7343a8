"""What taught this prediction? A ranking of all training examples for one query, or a few, that go wrong alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from engine.analysis.poison import asking, evidence, token_evidence
from engine.analysis.poison.asking import Asked, Own, Typed
from engine.basics.options import Options
from engine.basics.values import Sparse
from engine.problems import Problem, by_reads
from engine.requests import Request
from engine.store.results import Store

QUICK = 20_000_000
"""Numbers in the training inputs up to which the answer is computed while a reader waits."""


_evidence = by_reads(evidence.evidence, token_evidence.evidence)


@dataclass(frozen=True, eq=False)
class Taught:
    """scores (n,): of all training examples, the mean over queries. predicted (m,): the class that the model says of
    each query, or of a record whether the model prefers what it states; probability (m,): of that class, or of the
    stated answer or response. group: how many of the first examples stand apart from the rest of the class, or of all
    records; 0 where no group does. stated: what the records state that were asked about; none of a classifier."""

    scores: np.ndarray
    predicted: np.ndarray
    probability: np.ndarray
    group: int
    stated: tuple[str, ...] = ()

    @property
    def order(self) -> np.ndarray:
        """The training examples (n,), the most suspicious first."""
        return np.argsort(-self.scores, kind="stable")


class WhatTaughtRequest(Sparse, Request[Taught]):
    """Rank all training examples by how much they share the evidence of a wrong prediction."""

    name: ClassVar = "what-taught"
    doing: ClassVar = "shared evidence"
    numerics: ClassVar = 4
    unwritten: ClassVar = ("records",)
    outputs: ClassVar = {"out": "Output ranking, one row per training example, the most suspicious first."}

    queries: Asked = ()
    pictures: Own = ()
    records: Typed = ()

    def title(self, problem: str) -> str:
        return f"What taught {len(self.queries) + len(self.pictures) + len(self.records)} predictions on {problem}"

    def narrowed(self, problem: Problem) -> Problem:
        return asking.asking(problem, self.queries, self.pictures, self.records)

    def quick(self, problem: Problem) -> bool:
        return problem.x.numel() <= QUICK

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Taught:
        scores, predicted = _evidence(problem, options)
        mean = scores.mean(0)
        probability = asking.probability(problem).double().cpu().numpy()
        return Taught(mean, predicted, probability, evidence.group_size(mean), asking.stated(problem))

    def tables(self, answer: Taught, problem: Problem) -> Sequence[pd.DataFrame]:
        order = answer.order
        return [pd.DataFrame({"rank": np.arange(1, len(order) + 1), "example": order,
                              "label": problem.y.cpu().numpy()[order], "score": answer.scores[order],
                              "suspect": np.arange(len(order)) < answer.group})]

    def sentences(self, answer: Taught) -> list[str]:
        names = answer.stated or tuple(f"class {label}" for label in answer.predicted)
        said = ", ".join(f"{name} (p {p:.3f})" for name, p in zip(names, answer.probability, strict=True))
        return [f"The model says {said}.", standing_apart(answer)]


def standing_apart(answer: Taught) -> str:
    """Whether a group stands apart, as a sentence."""
    rest = "the other records" if answer.stated else "the rest of the class"
    if not answer.group:
        return f"No group of training examples stands clearly apart from {rest}: check the top of the ranking."
    return (f"{answer.group:,} training examples stand apart from {rest}: retrain without them to test whether they "
            "caused it.")
