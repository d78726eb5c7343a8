r"""Two stages: a cheap ranking chooses a shortlist, and only the shortlist gets the dear scores.

Of query q, with S its shortlist of m candidates and v the t-th largest dear score in it, the candidates that belong to
the answer are those with a dear score of at least v. What the first stage misses is estimated from c candidates that
are drawn at random among those on no query's shortlist, C:

    recall(q) = t / (t + M),    M = #{k ∈ shortlists of other queries ∖ S : score > v} + |C| x/c

with x of the c above v. Its 95% interval is that of x/c (Clopper and Pearson 1934); where all of C is drawn, M is
exact. Source: retrieval and re-ranking; the random complement makes the recall of the first a measured number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from scipy.stats import beta

from engine.analysis.scorecard.method import card_method, defined
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Seed
from engine.metrics.intervals import t_interval
from engine.problems import Problem
from engine.question import direction
from engine.requests import WHOLE, OfCandidates
from engine.requests.fields import StoredScoring
from engine.scoring.compute import compute
from engine.store.results import Store


@dataclass(frozen=True)
class TwoStage:
    """ranking: a row a query and candidate of its shortlist, by rank: `score` (oriented), `first` (rank by the cheap
    method). recall: a row a query, with its 95% interval, and the estimated number of candidates missed."""

    ranking: pd.DataFrame
    recall: pd.DataFrame

    @property
    def tables(self) -> list[pd.DataFrame]:
        return [self.ranking, self.recall]


class TwoStageRequest(OfCandidates[TwoStage]):
    """Score a shortlist of a cheap ranking by an expensive method, or exactly, and measure what the shortlist misses.

    Raises `InvalidInput` for a first method that the model has no answer for, sizes that do not fit, and as `compute`
    does.
    """

    name: ClassVar = "two-stage"
    doing: ClassVar = "scores of the shortlist"
    outputs: ClassVar = {"out": "Output ranking, one row per query and candidate of its shortlist.",
                         "recall": "Output table: the recall of the first stage, one row per query."}

    scoring: StoredScoring
    first: Annotated[str, Field(description="The cheap method, named as on the scorecard: gradsim, bm25, nearest …"
                                )] = "gradsim"
    shortlist: Annotated[Count, Field(ge=1, description="Candidates on a query's shortlist.")] = 50
    top: Annotated[Count, Field(ge=1, description="The number of top candidates whose recall is measured.")] = 10
    complement: Annotated[Count, Field(ge=1, description="Random candidates from outside all shortlists.")] = 50
    seed: Annotated[Seed, Field(description="Seed of the random candidates.")] = 0

    def title(self, problem: str) -> str:
        return f"{self.scoring.title} on the shortlists of `{self.first}`, {problem}"

    @property
    def quantities(self) -> dict[str, str]:
        return {WHOLE: direction.raw(self.scoring)} if self.scoring.route.implies else {}

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> TwoStage:
        if not defined(self.first, type(problem)):
            raise InvalidInput(f"The method `{self.first}` is not defined for {problem.noun}; "
                               "choose another method.")
        if not self.top <= self.shortlist <= len(problem.candidates):
            raise InvalidInput(f"A shortlist of {self.shortlist:,} does not fit a top of {self.top:,} out of "
                               f"{len(problem.candidates):,} candidates; give numbers in increasing order.")
        cheap = card_method(self.first).scores(problem, self.scoring.behavior, options.between(0, 0.2))
        listed = np.argsort(-cheap, axis=1, kind="stable")[:, :self.shortlist]
        union = np.unique(listed)
        rest = np.setdiff1d(np.arange(cheap.shape[1]), union)
        drawn = np.random.default_rng(self.seed).choice(rest, min(self.complement, len(rest)), replace=False)
        columns = np.concatenate([union, drawn])
        few = problem.with_candidates(problem.candidates[torch.as_tensor(columns, device=problem.device)])
        scores = compute(few, self.scoring, options.between(0.2, 1))[0].trusted
        dear = np.full(cheap.shape, np.nan)
        dear[:, columns] = scores
        return TwoStage(ranking(dear, listed, problem.candidates.cpu().numpy()),
                        recall(dear, listed, union, drawn, len(rest), self.top))

    def before(self, problem: Problem) -> Iterator[str]:
        yield f"Shortlists of {self.shortlist:,} of {len(problem.candidates):,} candidates by `{self.first}`."

    def sentences(self, answer: TwoStage) -> Iterator[str]:
        mean, half = t_interval(answer.recall["recall"])
        yield (f"Recall of the first stage for the top {self.top:,}: {mean:.2f} ± {half:.2f} over "
               f"{len(answer.recall):,} queries, estimated from {int(answer.recall['sampled'].iloc[0]):,} random "
               "candidates outside of the shortlists.")


def ranking(dear: np.ndarray, listed: np.ndarray, candidates: np.ndarray) -> pd.DataFrame:
    """The shortlists (m, s) by their dear scores (m, k); a candidate without one comes last."""
    rows = []
    for query, shortlist in enumerate(listed):
        order = np.argsort(-np.nan_to_num(dear[query, shortlist], nan=-np.inf), kind="stable")
        rows += [{"query": query, "rank": rank, "candidate": int(candidates[shortlist[place]]),
                  "score": dear[query, shortlist[place]], "first": int(place) + 1}
                 for rank, place in enumerate(order, 1)]
    return pd.DataFrame(rows)


def recall(dear: np.ndarray, listed: np.ndarray, union: np.ndarray, drawn: np.ndarray, rest: int, top: int
           ) -> pd.DataFrame:
    """query, recall, low, high, missed, sampled: see the head of this file. dear (m, k), NaN where nothing is known;
    listed (m, s); union, drawn: candidates on some shortlist, and drawn of the `rest` that are on none."""
    rows = []
    for query, shortlist in enumerate(listed):
        own = np.sort(np.nan_to_num(dear[query, shortlist], nan=-np.inf))[::-1]
        border, others = own[top - 1], np.setdiff1d(union, shortlist)
        known = int((np.nan_to_num(dear[query, others], nan=-np.inf) > border).sum())
        above = int((np.nan_to_num(dear[query, drawn], nan=-np.inf) > border).sum())
        low, high = _fraction(above, len(drawn), rest)
        missed = known + rest * above / max(1, len(drawn))
        rows.append({"query": query, "recall": top / (top + missed), "low": top / (top + known + rest * high),
                     "high": top / (top + known + rest * low), "missed": missed, "sampled": len(drawn)})
    return pd.DataFrame(rows)


def _fraction(x: int, count: int, of: int) -> tuple[float, float]:
    """The 95% interval of a fraction of which x of `count` were seen, out of `of`; the fraction itself where all were.
    """
    if count == of:
        return (x / of, x / of) if of else (0.0, 0.0)
    low = 0.0 if x == 0 else float(beta.ppf(0.025, x, count - x + 1))
    high = 1.0 if x == count else float(beta.ppf(0.975, x + 1, count - x))
    return low, high
