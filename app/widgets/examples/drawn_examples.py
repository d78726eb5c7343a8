"""Training examples and queries of a draw as they are shown: pictures, texts or features, with label and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.widgets.examples import cards, pictures, predictions, record_text
from app.widgets.examples.predictions import Prediction
from engine.desk import DrawnProblem
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


def queries(drawn: DrawnProblem) -> list[Query]:
    """Every query, in the order of the draw."""
    names = [drawn.dataset.class_names[label] for label in drawn.sample.y_query]
    return [Query(place, name, said) for place, (name, said) in enumerate(
        zip(names, predictions.of_queries(drawn), strict=True))]


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
    return _html(drawn, "test", int(drawn.sample.query_index[query.place]),
                 f"query {query.place}, {noun(drawn)} {query.label}", size, words=words(drawn, query, scorings))


def train_html(drawn: DrawnProblem, row: int, size: int, shown: int = cards.SHOWN_FEATURES) -> str:
    """Picture, text or feature table of a training example."""
    return _html(drawn, "train", int(drawn.sample.train_index[row]),
                 f"training example {row}, {noun(drawn)} {label(drawn, row)}", size, shown)


def _html(drawn, split: str, index: int, description: str, size: int, shown=cards.SHOWN_FEATURES,
          words: record_text.Places = ()) -> str:
    record = drawn.dataset.record(split, index)
    if record is not None:
        return record_text.html(record, size > SMALL, words)
    if drawn.dataset.image_shape is None:
        return cards.features(drawn.dataset.features(split, np.array([index]))[0], description, shown)
    return pictures.html(drawn.dataset, split, index, size, description)
