r"""What if all of these? An intervention on a set of training examples, beside the sum over its examples.

    additivity gap(q) = I_S(q, G) − Σ_{k ∈ G} I_S(q, k)

with both terms exact. Rankings are read as if effects added up; the gap says by how much they do not. Under a
derivative it is zero, because a derivative is linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from pydantic import AfterValidator, Field

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count
from engine.exact import group
from engine.problems import Problem
from engine.question import direction
from engine.requests import WHOLE, Option, Request, Table, effort
from engine.requests.fields import StoredScoring
from engine.scoring.compute import check, compute
from engine.scoring.scoring import Scoring
from engine.store.results import Store

DEFINITION = ("The effect of the whole group at once, minus the sum of its examples' effects one by one; both are "
              "exact. Zero if effects add up.")


@dataclass(frozen=True, eq=False)
class GroupEffect:
    """rows (b,): the group. whole (m,): its exact effect on each query. singles (m, b): its examples', one by one; all
    raw, in the sense of the estimand. known (m,): whether all singles converged and are finite."""

    scoring: Scoring
    rows: np.ndarray
    whole: np.ndarray
    singles: np.ndarray
    known: np.ndarray

    @property
    def added(self) -> np.ndarray:
        """Σ_k I_S(q, k), (m,)."""
        return self.singles.sum(1)

    @property
    def gap(self) -> np.ndarray:
        """The additivity gap, (m,)."""
        return self.whole - self.added


class GroupRequest(Request[Table]):
    """Group influence: intervene on several training examples at once, and compare with the sum of single effects.

    The answer has a row a query, with `whole group` and `trusted`, and, where they were computed too, `sum of examples`
    and `additivity gap`.
    """

    name: ClassVar = "group-effect"
    command: ClassVar = "group"
    numerics: ClassVar = 2  # a group is trained with the seeds of its process
    doing: ClassVar = "the group, and its examples"
    outputs: ClassVar = {"out": "Output effects, one row per query."}

    scoring: StoredScoring
    rows: Annotated[tuple[Count, ...], AfterValidator(lambda rows: tuple(sorted(set(rows)))), Option(read="rows"),
                    Field(description="Rows of the sampled training set; their order does not matter.")]
    singles: Annotated[bool, Option(read="singles"), Field(description=(
        "Whether each example's own effect is also computed."))] = True

    def title(self, problem: str) -> str:
        return f"{len(self.rows):,} examples at once on {problem}"

    @property
    def unit(self) -> float:
        return effort.scoring_seconds(self.origin, self.computed, 1 + len(self.rows) * self.singles)

    @property
    def quantities(self) -> dict[str, str]:
        return {WHOLE: direction.raw_change(self.scoring.readout)}

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Table:
        effect = group_effect(problem, self.scoring, self.rows, options, self.singles)
        beside = {"sum of examples": effect.added, "additivity gap": effect.gap} if self.singles else {}
        return Table(pd.DataFrame({"query": range(len(problem.queries)), "whole group": effect.whole, **beside,
                                        "trusted": effect.known}))

    def before(self, problem: Problem) -> list[str]:
        return [f"{len(self.rows):,} of {problem.n:,} training examples."]

    def written(self, answer: Table, problem: Problem, output: str) -> pd.DataFrame:
        table = answer.whole.rename(columns=lambda name: name.replace(" ", "_"))
        return table.assign(examples=len(self.rows), **{direction.QUANTITY: self.quantities[WHOLE]})

    def parameters(self) -> dict[str, Any]:
        """As payloads have been written from the start."""
        return {"scorings": [self.scoring.canonical()], "rows": list(self.rows),
                **({} if self.singles else {"singles": False})}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        return cls.parse({"source": payload["source"], "scoring": payload["scorings"][0], "rows": payload["rows"],
                          "singles": payload.get("singles", True)})


def group_effect(problem: Problem, scoring: Scoring, rows: Sequence[int] | np.ndarray, options: Options | None = None,
                 singles: bool = True) -> GroupEffect:
    """The exact effect of an intervention on training examples `rows` (b,) together, and one by one if `singles` are
    asked for: 1 + b trainings instead of one. A derivative adds up its single effects.

    NaN where a training diverged or no optimum was reached. Raises `InvalidInput` for a scoring that is no exact one, a
    process without a group form, and rows that make no group.
    """
    options, chosen = options or Options(), _group(problem, scoring, rows)
    each, derivative = singles or scoring.process.derivative, scoring.process.derivative
    single = compute(problem.with_candidates(chosen), scoring, options.stage(0, 2))[0] if each else None
    whole = single.values.sum(1) if single and derivative else effects(
        problem, scoring, [chosen], options.stage(1, 2) if each else options)[:, 0]
    options.progress(1.0)
    known = np.isfinite(whole) if single is None or not singles else np.asarray(single.usable.all(1))
    return GroupEffect(scoring, chosen.cpu().numpy(), whole, single.values if single else np.empty((len(whole), 0)),
                       known)


def _group(problem: Problem, scoring: Scoring, rows: Sequence[int] | np.ndarray) -> torch.Tensor:
    """The rows (b,), which make a group that the scoring can be asked of."""
    checked(problem, scoring)
    chosen = torch.as_tensor(np.asarray(rows, dtype=np.int64), device=problem.device)
    if not scoring.process.derivative:
        group.check(problem, scoring.intervention, scoring.process, [chosen])
    return chosen


def effects(problem: Problem, scoring: Scoring, groups: Sequence[torch.Tensor], options: Options | None = None
            ) -> np.ndarray:
    """I_S(q, G) of every group, (m, G), raw; NaN where a training diverged or no optimum was reached.
    Raises as `group_effect` does."""
    checked(problem, scoring)
    options = options or Options()
    precision = "float64" if scoring.process.double else options.precision
    held, [readout] = problem.for_differences(precision).asking([scoring.readout])
    with problem.exclusive:
        response = group.respond(held, scoring.intervention, scoring.process, groups, options)
    values = response.scores(readout, held.query_labels)
    return torch.where(response.reached(values), values.double(), torch.nan).cpu().numpy()


def checked(problem: Problem, scoring: Scoring) -> None:
    """Raises `InvalidInput` for what cannot be asked of a group on this problem."""
    check(problem, scoring)
    if not scoring.exact:
        raise InvalidInput(f"The estimator `{scoring.estimator}` sums single effects; use the estimator `exact` for "
                           "the effect of a group.")
