r"""A set of queries minus a control set: what a training example does to the first beyond what it does to the second.

    A(k) = (1/|Q|) Σ_{q ∈ Q} s(q, k) − (1/|C|) Σ_{q ∈ C} s(q, k),   s the oriented scores

What an example does to every query alike, such as raising a style or a format that all of them have, cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count
from engine.problems import Problem
from engine.question import direction
from engine.requests import OfCandidates, Option
from engine.requests.fields import StoredScoring
from engine.scoring.aggregate import Difference, Weighted
from engine.scoring.compute import compute
from engine.store.results import Store

Numbers = tuple[Annotated[Count, Field(ge=0)], ...]


@dataclass(frozen=True, eq=False)
class ControlledScores:
    """Of k candidates: their rows, the mean oriented score over the queries, over the control set, and the first minus
    the second; NaN where it is not known."""

    candidates: np.ndarray
    queries: np.ndarray
    control: np.ndarray
    difference: np.ndarray


class ControlSetRequest(OfCandidates[ControlledScores]):
    """Rank candidates by their mean score on a set of queries minus that on a control set.

    Raises `InvalidInput` for a query that there is not, one in both sets, and where no query is left over.
    """

    name: ClassVar = "control-set"
    doing: ClassVar = "scores of both sets"
    outputs: ClassVar = {"out": "Output scores, one row per candidate, largest difference first."}
    outside: ClassVar = True

    scoring: StoredScoring
    control: Annotated[Numbers, Option(called="control"), Field(
        description="A query of the control set, counted from 0; repeatable.")]
    queries: Annotated[Numbers, Option(called="query"), Field(
        description="A query of the set itself; repeatable (default: all that are not in the control set).")] = ()

    def title(self, problem: str) -> str:
        return f"Queries minus {len(self.control):,} controls on {problem}"

    @property
    def quantities(self) -> dict[str, str]:
        return {"out": f"mean over queries minus mean over controls: {direction.scored(self.scoring)}"}

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> ControlledScores:
        count = len(problem.queries)
        control = _members(self.control, count)
        queries = _members(self.queries, count) if self.queries else ~control
        if not control.any() or not queries.any():
            raise InvalidInput("One of the two sets has no query; name at least one control query, and leave at least "
                               "one other.")
        if (control & queries).any():
            raise InvalidInput(f"Query {int((control & queries).argmax())} is in both sets; leave it out of one.")
        [scores] = compute(problem, self.scoring, options)
        both = Difference(Weighted(queries), Weighted(control))
        return ControlledScores(problem.candidates.cpu().numpy(), both.first.of(scores), both.second.of(scores),
                                both.of(scores))

    def tables(self, answer: ControlledScores, problem: Problem) -> list[pd.DataFrame]:
        table = pd.DataFrame({"candidate": answer.candidates, "queries": answer.queries, "control": answer.control,
                              "difference": answer.difference})
        return [table.sort_values("difference", ascending=False, kind="stable")]


def _members(numbers: Sequence[int], count: int) -> np.ndarray:
    """Which of so many queries are named, (m,) bool."""
    if numbers and max(numbers) >= count:
        raise InvalidInput(f"There is no query {max(numbers)}; they are numbered from 0 to {count - 1}.")
    return np.isin(np.arange(count), numbers)
