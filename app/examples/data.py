"""What the examples page shows: ranked columns of training examples, and the table of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from app.widgets.examples.sampled_examples import identified, label, noun
from engine.desk import SampledProblem
from engine.metrics.ranking import bottom, only_in, ranks, top
from engine.scoring.scores import Scores


@dataclass(frozen=True)
class Card:
    """One training example in a column. position: among the candidates; row: in the sampled training set."""

    position: int
    row: int
    label: str
    ranks: tuple[int, ...]
    score: float
    once: bool


@dataclass(frozen=True)
class Column:
    """The ends of one specification's ranking. scored: candidates that have a rank; low, high: the score range."""

    top: tuple[Card, ...]
    bottom: tuple[Card, ...]
    scored: int
    low: float
    high: float

    @property
    def largest(self) -> float:
        return max(abs(self.low), abs(self.high))


def columns(sampled: SampledProblem, scored: Sequence[Scores], query: int, n: int) -> list[Column]:
    """The n best and n worst candidates under each specification, with their ranks under all of them."""
    values = [scores.trusted[query] for scores in scored]
    rankings = [ranks(row) for row in values]
    tops, bottoms = ([end(ranking, n) for ranking in rankings] for end in (top, bottom))
    once_top, once_bottom = only_in(tops), only_in(bottoms)

    def listed(index: int, positions: np.ndarray, once: set[int]) -> tuple[Card, ...]:
        return tuple(_card(sampled, scored, rankings, int(at), values[index][at], int(at) in once) for at in positions)

    return [Column(listed(index, tops[index], once_top[index]), listed(index, bottoms[index], once_bottom[index]),
                   int((rankings[index] > 0).sum()), *_range(values[index])) for index in range(len(scored))]


def _card(sampled: SampledProblem, scored: Sequence[Scores], rankings: Sequence[np.ndarray], position: int,
          score: float, once: bool) -> Card:
    row = int(scored[0].candidates[position])
    return Card(position, row, label(sampled, row), tuple(int(ranking[position]) for ranking in rankings), float(score),
                once)


def _range(values: np.ndarray) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)


def table(sampled: SampledProblem, scored: Sequence[Scores], names: Sequence[str], query: int,
          group: Sequence[int] = ()) -> pd.DataFrame:
    """The whole ranking: one row a candidate, with rank and oriented score under each specification."""
    rows = scored[0].candidates
    frame = pd.DataFrame({**identified(sampled, rows), noun(sampled): [label(sampled, row) for row in rows]})
    if group:
        frame["in the group"] = np.isin(rows, group)
    for name, scores in zip(names, scored, strict=True):
        frame[f"rank: {name}"] = ranks(scores.trusted[query])
        frame[f"score: {name}"] = scores.scored[query]
    return frame.sort_values(f"rank: {names[0]}", key=lambda rank: rank.replace(0, len(rank) + 1), kind="stable")
