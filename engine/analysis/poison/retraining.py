"""Remove the suspects and train again: the predictions before and after, beside random controls of the same number.

Every model is trained by the same recipe and seed. Controls leave out as many other training examples, chosen at random
with the labels that the suspects have; records have none. Accuracy is that of the other queries, of a language model of
those that state an answer; *called it* counts those of them, of other labels, that the model calls what it called the
first of them before, of a language model those whose stated answer it does not prefer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, cast

import numpy as np
import pandas as pd
import torch
from pydantic import AfterValidator, Field
from torch import Tensor

from engine.analysis.poison import asking, token_evidence
from engine.analysis.poison.asking import Asked, Own, Typed
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Seed, Sparse
from engine.problems import CausalProblem, Problem, by_reads
from engine.problems.variants import trained_on
from engine.question.token_behaviors import stated_answer_preferred
from engine.requests import Option, Request
from engine.store.results import Store

BEFORE, WITHOUT, CONTROL = "as trained", "without the suspects", "without random ones"
NORMAL = 1.96


@dataclass(frozen=True)
class WithoutSuspects:
    """models: a row a model and query: `model`, `removed`, `query`, `predicted` (of a record whether the model prefers
    what it states), `p` (of the class that the model as trained predicts, or of what the record states), `accuracy`,
    its half width `± 95%` (normal approximation), `held_out`, `called_it`."""

    models: pd.DataFrame


class RemoveSuspectsRequest(Sparse, Request[WithoutSuspects]):
    """Retrain without some training examples, and compare predictions before and after."""

    name: ClassVar = "remove-suspects"
    doing: ClassVar = "training without the suspects"
    numerics: ClassVar = 2
    unwritten: ClassVar = ("records",)
    outputs: ClassVar = {"out": "Output predictions and accuracies, one row per model and query."}

    rows: Annotated[tuple[Count, ...], AfterValidator(lambda rows: tuple(sorted(set(rows)))), Option(read="rows"),
                    Field(description="Rows of the suspects in the sampled training set.")]
    queries: Asked = ()
    pictures: Own = ()
    records: Typed = ()
    controls: Annotated[Count, Field(ge=0, le=20, description="Random groups of the same number.")] = 2
    seed: Annotated[Seed, Field(description="Seed of the random groups.")] = 0
    trainings: ClassVar[float] = 1.0

    def title(self, problem: str) -> str:
        return f"Without {len(self.rows):,} suspects, {problem}"

    @property
    def chunks(self) -> list[str]:
        return [BEFORE, WITHOUT, *(f"{CONTROL}, {number}" for number in range(1, self.controls + 1))]

    def weight(self, chunk: str) -> float:
        return 0.01 if chunk == BEFORE else 1.0

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> WithoutSuspects:
        posed = asking.asking(problem, self.queries, self.pictures, self.records)
        rest = np.setdiff1d(np.arange(len(problem.queries)), self.queries)
        if not len(rest):
            raise InvalidInput("All queries are chosen, so none remain to measure accuracy on; choose fewer.")
        left_out = self._left_out(problem, chunk)
        retrained = without(posed, left_out, options) if len(left_out) else posed
        measured = _measured(posed, retrained, problem, rest)
        rows = zip(measured.predicted.tolist(), measured.p.tolist(), strict=True)
        right = measured.right.double()
        accuracy = float(right.mean())
        return WithoutSuspects(pd.DataFrame([{
            "model": chunk, "removed": len(left_out), "query": number, "predicted": predicted, "p": own,
            "accuracy": accuracy, "± 95%": NORMAL * (accuracy * (1 - accuracy) / max(1, len(right))) ** 0.5,
            "held_out": len(right), "called_it": measured.called} for number, (predicted, own) in enumerate(rows)]))

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


@dataclass(frozen=True)
class _Measured:
    """predicted, p (m,) of the queries that are asked about; right (r,) bool of the other queries; how many of them
    are called what the first of these was."""

    predicted: Tensor
    p: Tensor
    right: Tensor
    called: int


def _of_classes(posed: Problem, retrained: Problem, problem: Problem, rest: np.ndarray) -> _Measured:
    """posed, retrained: the asked queries with the model as trained and without the suspects; rest: other queries."""
    before, p = posed.query_logits.argmax(-1), retrained.query_logits.softmax(-1)
    said, labels = retrained.outputs(problem.queries[rest]).argmax(-1), problem.query_labels[rest]
    called = int(((said == before[0]) & (labels != before[0])).sum())
    return _Measured(p.argmax(-1), p.gather(1, before[:, None])[:, 0], said == labels, called)


def _of_records(posed: CausalProblem, retrained: Problem, problem: Problem, rest: np.ndarray) -> _Measured:
    retrained, problem = cast(CausalProblem, retrained), cast(CausalProblem, problem)
    stating = problem.queries[rest][problem.reader.packing.unpack(problem.queries[rest]).answered.any(1)]
    wide = posed.reader.packing
    others = problem.queries.new_zeros(0).bool()
    if len(stating):
        others = stated_answer_preferred(retrained.outputs(problem.reader.packing.repacked(stating, wide)))
    return _Measured(token_evidence.prefers(retrained).long(), token_evidence.probability(retrained), others,
                     int((~others).sum()))


_measured = by_reads(_of_classes, _of_records)


def without(problem: Problem, rows: np.ndarray, options: Options) -> Problem:
    """The model that is trained again, by the same recipe and seed, without training examples `rows`.

    Raises `InvalidInput` where it is not known how it was trained.
    """
    rest = torch.as_tensor(np.setdiff1d(np.arange(problem.n), rows), device=problem.device)
    examples = problem.trained_examples._replace(x=problem.x[rest], y=problem.y[rest],
                                                 candidates=torch.arange(len(rest), device=problem.device))
    return trained_on(problem, examples, options)
