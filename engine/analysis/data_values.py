r"""Banzhaf and Shapley values of the candidates from models trained on subsets, v(S) = B(q; θ(S)).

    Banzhaf   φ_k = E_S [v(S ∪ k) − v(S ∖ k)],  every subset of the others equally likely
    Shapley   φ_k = Σ_S |S|! (K − |S| − 1)!/K! · [v(S ∪ k) − v(S)],  S over subsets of the others

The Banzhaf value is estimated by E[v(S) | k ∈ S] − E[v(S) | k ∉ S] over the same models for all candidates (maximum
sample reuse; Wang and Jia 2023). The Shapley value is the weighted least-squares fit of v(S) by a constant and the sum
of the values, which is exact at S = ∅ and at all candidates (kernel SHAP; Lundberg and Lee 2017). Both support a
behavior where they are positive, like oriented scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field, InstanceOf

from engine.analysis.subset_bank import Bank
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.problems import Problem
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.requests import Option, Request, Table
from engine.store.results import Store


@dataclass(frozen=True, eq=False)
class DataValues:
    """values (m, k), and error (m, k): the standard error by the draw of subsets; NaN where it is not known."""

    values: np.ndarray
    error: np.ndarray


def banzhaf(outcomes: np.ndarray, members: np.ndarray) -> DataValues:
    """From outcomes v(S_j) (m, J) and subsets members (J, k), each candidate in with probability ½.

    Raises `InvalidInput` where a candidate is in all subsets or in none.
    """
    _check(outcomes, members)
    inside, outside = members.sum(0), (~members).sum(0)
    if inside.min() < 2 or outside.min() < 2:
        raise InvalidInput(f"One candidate is in almost all of the {len(members)} subsets, or in almost none; sample "
                           "more.")
    mean_in, spread_in = _moments(outcomes, members)
    mean_out, spread_out = _moments(outcomes, ~members)
    return DataValues(mean_in - mean_out, np.sqrt(spread_in / inside + spread_out / outside))


def shapley(outcomes: np.ndarray, members: np.ndarray) -> DataValues:
    """From outcomes v(S_j) (m, J) and subsets members (J, k) drawn by `Draw(kind="shapley")`, whose first two are all
    candidates and none: the least squares over the others, which are drawn with the kernel's own weights.

    Raises `InvalidInput` where the first two are not those, or there are fewer subsets than candidates.
    """
    _check(outcomes, members)
    k = members.shape[1]
    if not members[0].all() or members[1].any():
        raise InvalidInput("Shapley values need subsets of kind `shapley`, which start with all candidates and with "
                           "none; sample such subsets.")
    if len(np.unique(members[2:], axis=0)) < k - 1:
        raise InvalidInput(f"{len(members)} subsets do not determine the Shapley values of {k} candidates; sample at "
                           f"least {k + 2}, preferably many more, or use fewer candidates.")
    whole, none = outcomes[:, 0], outcomes[:, 1]
    # the last value is what the others leave of the whole effect
    design = members[2:, :-1].astype(float) - members[2:, -1:]
    target = outcomes[:, 2:] - none[:, None] - np.outer(whole - none, members[2:, -1])
    solution, _, rank, _ = np.linalg.lstsq(design, target.T, rcond=None)
    if rank < k - 1:
        raise InvalidInput(f"{len(members)} subsets do not determine the Shapley values of {k} candidates; sample "
                           "more.")
    values = np.concatenate([solution, (whole - none - solution.sum(0))[None]]).T
    return DataValues(values, np.full_like(values, np.nan))


VALUES = {"halves": ("banzhaf", banzhaf), "shapley": ("shapley", shapley)}
"""By the kind of a draw: the value that is read off it."""


def values_of(kind: str, outcomes: np.ndarray, members: np.ndarray) -> tuple[str, DataValues]:
    """The name of the value that models on subsets of a kind give, and the values. Raises `InvalidInput` for a kind
    that gives none."""
    if kind not in VALUES:
        raise InvalidInput(f"Subsets of the kind `{kind}` give no Banzhaf or Shapley value; sample subsets of the kind "
                           f"{' or '.join(f'`{known}`' for known in VALUES)}.")
    name, read_off = VALUES[kind]
    return name, read_off(outcomes, members)


class DataValuesRequest(Request[Table]):
    """Banzhaf or Shapley values of the candidates for a behavior, from models on subsets."""

    name: ClassVar = "data-values"
    job: ClassVar = False
    doing: ClassVar = "values of the candidates"
    outputs: ClassVar = {"out": "Output values, one row per query and candidate."}

    behavior: Annotated[str, Field(description="Behavior whose value is attributed; see `list`.")] = "query_loss"
    bank: Annotated[InstanceOf[Bank], Option(read="bank")]

    @property
    def quantities(self) -> dict[str, str]:
        return {"out": direction.contribution(BEHAVIORS[self.behavior])}

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Table:
        problem.check_behavior(BEHAVIORS[self.behavior])
        models = self.bank.models
        models.check([BEHAVIORS[self.behavior]])
        name, attributed = values_of(self.bank.draw.kind, models.outcomes(self.behavior), models.members)
        queries, k = attributed.values.shape
        return Table(pd.DataFrame({
            "query": np.repeat(np.arange(queries), k), "candidate": np.tile(models.candidates, queries), "value": name,
            "behavior": self.behavior, "mean": attributed.values.ravel(), "standard_error": attributed.error.ravel(),
            "subsets": len(models.members)}))


def _moments(outcomes: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance (m, k) of the outcomes (m, J) where `chosen` (J, k)."""
    counts = chosen.sum(0)
    centred = outcomes - outcomes.mean(1, keepdims=True)
    mean = centred @ chosen / counts
    variance = (centred**2 @ chosen / counts - mean**2) * counts / (counts - 1)
    return mean + outcomes.mean(1, keepdims=True), np.maximum(variance, 0.0)


def _check(outcomes: np.ndarray, members: np.ndarray) -> None:
    if members.ndim != 2 or outcomes.ndim != 2 or outcomes.shape[1] != len(members):
        raise InvalidInput(f"Outcomes {outcomes.shape} and subsets {members.shape} have mismatched shapes; give "
                           "(queries, "
                           "subsets) and (subsets, candidates).")
