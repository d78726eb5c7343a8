"""Remove the suspects and train again: the predictions before and after, beside random controls of the same number.

Every model is trained by the same recipe and seed. Controls leave out as many other training examples, chosen at random
with the labels that the suspects have. Accuracy is that of the other queries; *called it* counts
those of them, of other labels, that the model calls what it called the first of them before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import torch
from pydantic import AfterValidator, Field

from engine.analysis.poison.taught import Asked, Own, asking
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Seed
from engine.problems import Problem
from engine.problems.variants import trained_on
from engine.requests import Option, Request
from engine.store.results import Store

BEFORE, WITHOUT, CONTROL = "as trained", "without the suspects", "without random ones"
NORMAL = 1.96


@dataclass(frozen=True)
class WithoutSuspects:
    """models: a row a model and query: `model`, `removed`, `query`, `predicted`, `p` (of the class that the model
    as trained predicts), `accuracy`, its half width `± 95%` (normal approximation), `held_out`, `called_it`."""

    models: pd.DataFrame


class RemoveSuspectsRequest(Request[WithoutSuspects]):
    """Train again without some training examples, and see what becomes of predictions."""

    name: ClassVar = "remove-suspects"
    answer: ClassVar = WithoutSuspects
    doing: ClassVar = "training without the suspects"
    outputs: ClassVar = {"out": "Predictions and accuracies to write: a row for each model and query."}

    rows: Annotated[tuple[Count, ...], AfterValidator(lambda rows: tuple(sorted(set(rows)))), Option(read="rows"),
                    Field(description="The suspects, of the drawn training set.")]
    queries: Asked = ()
    pictures: Own = ()
    controls: Annotated[Count, Field(ge=0, le=20, description="Random groups of the same number.")] = 2
    seed: Annotated[Seed, Field(description="Of the random groups.")] = 0

    def title(self, problem: str) -> str:
        return f"Without {len(self.rows):,} suspects, {problem}"

    @property
    def chunks(self) -> list[str]:
        return [BEFORE, WITHOUT, *(f"{CONTROL}, {number}" for number in range(1, self.controls + 1))]

    def weight(self, chunk: str) -> float:
        return 0.01 if chunk == BEFORE else 1.0

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> WithoutSuspects:
        posed = asking(problem, self.queries, self.pictures)
        class_before = posed.query_logits.argmax(-1)
        left_out = self._left_out(problem, chunk)
        model = without(problem, left_out, options) if len(left_out) else problem
        p = model.outputs(posed.queries).softmax(-1)
        rest = np.setdiff1d(np.arange(len(problem.queries)), self.queries)
        if not len(rest):
            raise InvalidInput("All queries are chosen, so no query is left to measure accuracy on; choose fewer.")
        said = model.outputs(problem.queries[rest]).argmax(-1)
        labels = problem.query_labels[rest]
        accuracy = float((said == labels).double().mean())
        called = int(((said == class_before[0]) & (labels != class_before[0])).sum())
        rows = zip(p.argmax(-1).tolist(), p.gather(1, class_before[:, None])[:, 0].tolist(), strict=True)
        return WithoutSuspects(pd.DataFrame([{
            "model": chunk, "removed": len(left_out), "query": number, "predicted": predicted, "p": own,
            "accuracy": accuracy, "± 95%": NORMAL * (accuracy * (1 - accuracy) / len(rest)) ** 0.5,
            "held_out": len(rest), "called_it": called} for number, (predicted, own) in enumerate(rows)]))

    def _left_out(self, problem: Problem, chunk: str) -> np.ndarray:
        """The rows that the model of a chunk is trained without. Raises `InvalidInput` for rows that there are not."""
        suspects = np.array(self.rows, dtype=np.int64)
        if not len(suspects) or suspects[0] < 0 or suspects[-1] >= problem.n or len(suspects) >= problem.n - 1:
            raise InvalidInput(f"Name between one and {problem.n - 2:,} of the {problem.n:,} training examples.")
        if chunk in (BEFORE, WITHOUT):
            return suspects if chunk == WITHOUT else suspects[:0]
        labels = problem.y.cpu().numpy()
        rng = np.random.default_rng([self.seed, self.chunks.index(chunk)])
        others = np.setdiff1d(np.arange(problem.n), suspects)
        return np.concatenate([rng.permutation(others[labels[others] == label])[:count] for label, count in zip(
            *np.unique(labels[suspects], return_counts=True), strict=True)])


def without(problem: Problem, rows: np.ndarray, options: Options) -> Problem:
    """The model that is trained again, by the same recipe and seed, without training examples `rows`.

    Raises `InvalidInput` where it is not known how it was trained.
    """
    rest = torch.as_tensor(np.setdiff1d(np.arange(problem.n), rows), device=problem.device)
    examples = problem.trained_examples._replace(x=problem.x[rest], y=problem.y[rest],
                                                 candidates=torch.arange(len(rest), device=problem.device))
    return trained_on(problem, examples, options)
