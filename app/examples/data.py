"""What the examples page shows: the queries to choose from, ranked columns of training examples, one in detail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from app.examples import predictions
from app.examples.predictions import Prediction
from app.widgets import cards, pictures, record_text
from engine.metrics.ranking import bottom, found_once, ranks, top
from engine.problems import DrawnProblem
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

SMALL = 64
"""The side of a picture in a card; a text in its place is set small too."""


@dataclass(frozen=True)
class Query:
    """A query of the draw, with what the model says of it."""

    place: int
    label: str
    prediction: Prediction

    @property
    def predicted(self) -> str:
        return self.prediction.said

    @property
    def right(self) -> bool:
        return self.label == self.predicted


@dataclass(frozen=True)
class Card:
    """One training example in a column. position: among the candidates; row: in the drawn training set."""

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


def queries(drawn: DrawnProblem) -> list[Query]:
    """Every query, in the order of the draw."""
    names = [drawn.dataset.class_names[label] for label in drawn.sample.y_query]
    return [Query(place, name, said) for place, (name, said) in enumerate(
        zip(names, predictions.of_queries(drawn), strict=True))]


def columns(drawn: DrawnProblem, found: Sequence[Scores], query: int, n: int) -> list[Column]:
    """The n best and n worst candidates under each specification, with their ranks under all of them."""
    values = [scores.trusted[query] for scores in found]
    rankings = [ranks(row) for row in values]
    tops, bottoms = ([end(ranking, n) for ranking in rankings] for end in (top, bottom))
    once_top, once_bottom = found_once(tops), found_once(bottoms)

    def listed(place: int, positions, once: set[int]) -> tuple[Card, ...]:
        return tuple(_card(drawn, found, rankings, int(at), values[place][at], int(at) in once) for at in positions)

    return [Column(listed(place, tops[place], once_top[place]), listed(place, bottoms[place], once_bottom[place]),
                   int((rankings[place] > 0).sum()), *_range(values[place])) for place in range(len(found))]


def _card(drawn: DrawnProblem, found, rankings, position: int, score: float, once: bool) -> Card:
    row = int(found[0].candidates[position])
    return Card(position, row, label(drawn, row), tuple(int(ranking[position]) for ranking in rankings), float(score),
                once)


def _range(values: np.ndarray) -> tuple[float, float]:
    kept = values[~np.isnan(values)]
    return (float(kept.min()), float(kept.max())) if kept.size else (0.0, 0.0)


def label(drawn: DrawnProblem, row: int) -> str:
    """The class name of a training example, or the answer that a record states."""
    return drawn.dataset.class_names[drawn.sample.y_train[row]]


def noun(drawn: DrawnProblem) -> str:
    """What a class of an example is called."""
    return drawn.dataset.noun


def words(drawn: DrawnProblem, query: Query, scorings: Sequence[Scoring]) -> record_text.Places:
    """Where the words of a query stand that scorings ask about; none of a picture."""
    record = drawn.dataset.record("test", int(drawn.sample.query_index[query.place]))
    return () if record is None else record_text.asked(record, query.place, scorings)


def query_html(drawn: DrawnProblem, query: Query, size: int, scorings: Sequence[Scoring] = ()) -> str:
    """Picture, text or feature table of a query, with the words that the scorings ask about marked in a text."""
    return _html(drawn, "test", int(drawn.sample.query_index[query.place]), drawn.sample.x_query[query.place],
                 f"query {query.place}, {noun(drawn)} {query.label}", size, words=words(drawn, query, scorings))


def train_html(drawn: DrawnProblem, row: int, size: int, shown: int = cards.SHOWN_FEATURES) -> str:
    """Picture, text or feature table of a training example."""
    return _html(drawn, "train", int(drawn.sample.train_index[row]), drawn.sample.x_train[row],
                 f"training example {row}, {noun(drawn)} {label(drawn, row)}", size, shown)


def _html(drawn, split: str, index: int, values, description: str, size: int, shown=cards.SHOWN_FEATURES,
          words: record_text.Places = ()) -> str:
    record = drawn.dataset.record(split, index)
    if record is not None:
        return record_text.html(record, size > SMALL, words)
    if drawn.dataset.image_shape is None:
        return cards.features(values, description, shown)
    return pictures.html(drawn.dataset, split, index, size, description)


def table(drawn: DrawnProblem, found: Sequence[Scores], names: Sequence[str], query: int) -> pd.DataFrame:
    """The whole ranking: one row a candidate, with rank and oriented score under each specification."""
    rows = found[0].candidates
    frame = pd.DataFrame({"training example": rows, "row in dataset": drawn.sample.train_index[rows],
                          noun(drawn): [label(drawn, row) for row in rows]})
    for name, scores in zip(names, found, strict=True):
        frame[f"rank: {name}"] = ranks(scores.trusted[query])
        frame[f"score: {name}"] = scores.trusted[query]
    return frame.sort_values(f"rank: {names[0]}", key=lambda rank: rank.replace(0, len(rank) + 1), kind="stable")


def details(found: Sequence[Scores], query: int, row: int) -> list[tuple[int, int, float]]:
    """(rank, of how many, oriented score) of one training example under each specification."""
    position = int(np.flatnonzero(found[0].candidates == row)[0])
    listed = []
    for scores in found:
        ranking = ranks(scores.trusted[query])
        listed.append((int(ranking[position]), int((ranking > 0).sum()), float(scores.trusted[query, position])))
    return listed
