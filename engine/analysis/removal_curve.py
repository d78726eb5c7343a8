r"""The counterfactual curve of a ranking: remove its first k examples, train again, and see what becomes of a behavior.

    curve(k) = mean over queries of B(q; θ(D ∖ top k)) − B(q; θ_D)

beside the same for random groups of k candidates, which say what removing any k does, and beside −Σ of the k scores
where these are effects of single removals: what the ranking would have promised if effects added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import torch
from pydantic import Field

from engine.analysis.groups import effects
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Seed
from engine.metrics.intervals import t_interval
from engine.problems import Problem
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Remove
from engine.question.processes import Retrain
from engine.requests import WHOLE, OfCandidates, Request, Table, effort
from engine.requests.fields import Named, StoredScoring, scores_of
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Store

SIZES = (1, 2, 5, 10, 20, 50, 100, 200)
RANDOM = 10


@dataclass(frozen=True, eq=False)
class RemovalCurve:
    """sizes (K,); changes: name of a ranking -> (K,), the mean change over queries; random (K, R): of random groups;
    promised: name -> (K,), the sum of scores that are effects of single removals, where they are."""

    sizes: np.ndarray
    changes: Mapping[str, np.ndarray]
    random: np.ndarray
    promised: Mapping[str, np.ndarray]

    def table(self) -> pd.DataFrame:
        """A row a ranking and size: the change, and of random groups the mean with a 95% t interval over them."""
        rows = []
        for name, values in self.changes.items():
            for index, size in enumerate(self.sizes):
                mean, half = t_interval(self.random[index])
                rows.append({"ranking": name, "removed": int(size), "change": values[index],
                             "sum of single effects": self.promised[name][index] if name in self.promised else np.nan,
                             "random groups": mean, "± 95%": half, "groups": self.random.shape[1]})
        return pd.DataFrame(rows)


class RemovalRequest(OfCandidates[Table]):
    """Remove the top of rankings and train again, for one query. Raises as `removal_curve` does."""

    name: ClassVar = "removal-curve"
    numerics: ClassVar = 2  # rankings turn the sign of a negative α
    doing: ClassVar = "models retrained without the top k"

    scorings: tuple[StoredScoring, ...]
    behavior: str
    query: Count
    random: Count = RANDOM
    seed: Seed = 0

    def title(self, problem: str) -> str:
        return f"Removal curve of query {self.query} on {problem}"

    @property
    def trainings(self) -> float:
        sizes = sizes_for(self.origin.most_candidates or effort.USUAL)
        return float(len(sizes) * (len(self.scorings) + self.random))

    @property
    def quantities(self) -> dict[str, str]:
        return {WHOLE: direction.raw_change(BEHAVIORS[self.behavior])}

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Table:
        scores = compute(problem, list(self.scorings), options.between(0, 0.2))
        rankings = {str(index): (one.scoring, one.trusted) for index, one in enumerate(scores)}
        curve = removal_curve(problem, rankings, self.behavior, [self.query], random=self.random, seed=self.seed,
                              options=options.between(0.2, 1))
        return Table(curve.table())


class RemovalCurvesRequest(Request[Table]):
    """Remove the top k of rankings and retrain: the change of a behavior, against random groups of the same size.

    Raises as `removal_curve` does, and `InvalidInput` for a query that there is not.
    """

    name: ClassVar = "removal-curves"
    command: ClassVar = "removal-curve"
    job: ClassVar = False
    doing: ClassVar = "models without the top of a ranking"
    outputs: ClassVar = {"out": "Output curve, one row per ranking and number."}

    rankings: Named
    behavior: Annotated[str, Field(description="Behavior; see `list`.")] = "query_loss"
    query: Annotated[tuple[Annotated[Count, Field(ge=0)], ...], Field(description=(
        "A query to rank for and to evaluate; repeatable (default: the mean over all)."))] = ()
    remove: Annotated[tuple[Annotated[Count, Field(ge=1)], ...], Field(description=(
        "Number to remove; repeatable (default: 1, 2, 5, 10, … up to half of the candidates)."))] = ()
    random: Annotated[Count, Field(ge=2, le=1_000, description="Random groups of each size.")] = RANDOM
    seed: Annotated[Seed, Field(description="Seed of the random groups.")] = 0
    seeds: Annotated[Count, Field(ge=1, le=1_000, description="Training seeds to average over.")] = 1

    @property
    def quantities(self) -> dict[str, str]:
        return {"out": direction.raw_change(BEHAVIORS[self.behavior])}

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Table:
        if self.query and max(self.query) >= len(problem.queries):
            raise InvalidInput(f"There is no query {max(self.query)}; give 0 to {len(problem.queries) - 1}.")
        scores = scores_of(problem, self.rankings, options.between(0, 0.2))
        return Table(removal_curve(
            problem, {name: (one.scoring, one.scored) for name, one in scores.items()}, self.behavior,
            self.query or None, self.remove or None, self.random, self.seed, self.seeds,
            options.between(0.2, 1)).table())


def sizes_for(k: int) -> list[int]:
    """The sizes that leave at least half of k candidates."""
    return [size for size in SIZES if 2 * size <= k]


def removal_curve(problem: Problem, scores: Mapping[str, tuple[Scoring, np.ndarray]], behavior: str,
                  queries: Sequence[int] | None = None, sizes: Sequence[int] | None = None, random: int = RANDOM,
                  seed: int = 0, seeds: int = 1, options: Options | None = None) -> RemovalCurve:
    """Curves of several rankings over one set of random groups.

    scores: name -> (scoring, oriented scores (m, k)); a ranking is that of their mean over `queries` (default: all),
    over which changes are averaged too. Candidates without a score come last. random: groups of each size. seeds: of
    the trainings. Raises `InvalidInput` for sizes that do not fit, and where the model cannot be trained again.
    """
    k = len(problem.candidates)
    chosen = list(range(len(problem.queries)) if queries is None else queries)
    wanted = sizes_for(k) if sizes is None else sorted(set(sizes))
    if not wanted or wanted[0] < 1 or wanted[-1] > k or wanted[-1] >= problem.n:
        raise InvalidInput(f"With {k:,} candidates, from 1 to {min(k, problem.n - 1):,} can be removed; give numbers "
                           "in this range.")
    rng = np.random.default_rng([seed, k])
    orders = {name: order_of(values[chosen]) for name, (_, values) in scores.items()}
    groups = [order[:size] for order in orders.values() for size in wanted]
    groups += [rng.choice(k, size, replace=False) for size in wanted for _ in range(random)]
    question = Scoring(behavior=behavior, intervention=Remove(), process=Retrain(seeds=seeds))
    rows = [problem.candidates[torch.as_tensor(own.copy(), device=problem.device)] for own in groups]
    effect = effects(problem, question, rows, options)[chosen].mean(0)
    split = len(orders) * len(wanted)
    changes = effect[:split].reshape(len(orders), len(wanted))
    last = np.array(wanted) - 1
    promised = {name: scoring.orientation * np.nan_to_num(values[chosen]).mean(0)[orders[name]].cumsum()[last]
                for name, (scoring, values) in scores.items() if _single_effects(scoring, behavior)}
    return RemovalCurve(np.array(wanted), dict(zip(orders, changes, strict=True)),
                        effect[split:].reshape(len(wanted), random), promised)


def order_of(values: np.ndarray) -> np.ndarray:
    """Places (k,) by the mean over queries of scores (q, k), the largest first, those without a score last."""
    known = ~np.isnan(values)
    mean = np.where(known, values, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    return np.argsort(-np.where(known.any(0), mean, -np.inf), kind="stable")


def _single_effects(scoring: Scoring, behavior: str) -> bool:
    """Whether the scores are effects of removing single examples on the behavior that the curve shows."""
    return scoring.route.implies and scoring.intervention.kind == "remove" and scoring.behavior == behavior
