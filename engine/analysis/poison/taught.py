"""What taught this prediction? A ranking of all training examples for one query, or a few, that go wrong alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from engine.analysis.poison import evidence
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Number
from engine.problems import Problem
from engine.problems.candidates import Shared
from engine.problems.memory import ProblemMemory
from engine.requests import Option, Request
from engine.store.results import Store

QUICK = 20_000_000
"""Numbers in the training inputs up to which the answer is computed while a reader waits."""
Asked = Annotated[tuple[Annotated[Count, Field(ge=0)], ...], Option(called="wrong"), Field(
    description="Number of a query that goes wrong, from 0; repeat it for several.")]
Own = Annotated[tuple[tuple[Number, ...], ...], Option(read="pictures"), Field(
    description="Pictures that are no queries yet.")]


@dataclass(frozen=True, eq=False)
class Taught:
    """scores (n,): of all training examples, the mean over queries. predicted, probability (m,): what the model says of
    each query. group: how many of the first examples stand apart from the rest of the class; 0 where no group does."""

    scores: np.ndarray
    predicted: np.ndarray
    probability: np.ndarray
    group: int

    @property
    def order(self) -> np.ndarray:
        """The training examples (n,), the most suspicious first."""
        return np.argsort(-self.scores, kind="stable")


class WhatTaughtRequest(Request[Taught]):
    """Rank all training examples by how much they share the evidence of a wrong prediction."""

    name: ClassVar = "what-taught"
    answer: ClassVar = Taught
    doing: ClassVar = "shared evidence"
    outputs: ClassVar = {"out": "The ranking to write: a row for each training example, the most suspicious first."}

    queries: Asked = ()
    pictures: Own = ()

    def title(self, problem: str) -> str:
        return f"What taught {len(self.queries) + len(self.pictures)} predictions on {problem}"

    def narrowed(self, problem: Problem) -> Problem:
        return asking(problem, self.queries, self.pictures)

    def quick(self, problem: Problem) -> bool:
        return problem.x.numel() <= QUICK

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Taught:
        scores, predicted = evidence.evidence(problem, options)
        mean = scores.mean(0)
        probability = problem.query_logits.softmax(-1).max(-1).values.double().cpu().numpy()
        return Taught(mean, predicted, probability, evidence.group_size(mean))

    def tables(self, answer: Taught, problem: Problem) -> Sequence[pd.DataFrame]:
        order = answer.order
        return [pd.DataFrame({"rank": np.arange(1, len(order) + 1), "example": order,
                              "label": problem.y.cpu().numpy()[order], "score": answer.scores[order],
                              "suspect": np.arange(len(order)) < answer.group})]

    def sentences(self, answer: Taught) -> list[str]:
        said = ", ".join(f"class {label} (p {p:.3f})" for label, p in zip(answer.predicted, answer.probability,
                                                                         strict=True))
        return [f"The model says {said}.", standing_apart(answer)]


def standing_apart(answer: Taught) -> str:
    """Whether a group stands apart, as a sentence."""
    if not answer.group:
        return "No group of training examples stands apart from the rest of the class: nothing looks planted."
    return (f"{answer.group:,} training examples stand apart from the rest of the class: train again without them "
            "to see whether they taught it.")


def asking(problem: Problem, queries: Sequence[int], pictures: Sequence[Sequence[float]]) -> Problem:
    """The problem with some of its queries and new inputs as its only queries, the latter with label 0, which nothing
    here reads. Raises `InvalidInput` for none, and for what there is not."""
    if not queries and not pictures:
        raise InvalidInput("There is no query; give the number of one, or a picture.")
    if queries and max(queries) >= len(problem.queries):
        raise InvalidInput(f"There is no query {max(queries)}; give 0 to {len(problem.queries) - 1:,}.")
    if problem.reads != "classes":
        raise InvalidInput("Shared evidence is that of a classifier; of a language model ask on the page Language "
                           "models.")
    chosen = torch.as_tensor(list(queries), dtype=torch.int64, device=problem.device)
    given = _inputs(problem, pictures)
    labels = torch.cat([problem.query_labels[chosen], problem.query_labels.new_zeros(len(given))])
    examples = problem.examples._replace(queries=torch.cat([problem.queries[chosen], given]), query_labels=labels)
    return problem.holding(examples, Shared(problem.shared.model, ProblemMemory()))


def _inputs(problem: Problem, pictures: Sequence[Sequence[float]]) -> Tensor:
    shape = problem.queries.shape[1:]
    if any(len(one) != shape.numel() for one in pictures):
        raise InvalidInput(f"A picture has another number of values than the {shape.numel():,} that the model reads; "
                           "read it at the size of the training pictures.")
    return problem.queries.new_tensor(list(pictures)).reshape(len(pictures), *shape)
