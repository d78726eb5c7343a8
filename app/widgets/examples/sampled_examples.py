"""Training examples and queries of a draw as they are shown: pictures, texts or features, with label and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.widgets.examples import pictures, predictions, record_text, table_rows
from app.widgets.examples.predictions import Prediction
from engine.desk import ProblemSource, SampledProblem
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

SMALL = 64
"""The side of a picture in a card; a text in its place is set small too."""


@dataclass(frozen=True)
class Query:
    """A query of the draw, with what the model says of it."""

    index: int
    label: str
    prediction: Prediction

    @property
    def predicted(self) -> str:
        return self.prediction.said

    @property
    def right(self) -> bool:
        return self.predicted in ("", self.label)


def queries(sampled: SampledProblem) -> list[Query]:
    """Every query, in the order of the draw."""
    names = [sampled.dataset.class_names[label] for label in sampled.sample.y_query]
    return [Query(index, name, said) for index, (name, said) in enumerate(
        zip(names, predictions.of_queries(sampled), strict=True))]


def label(sampled: SampledProblem, row: int) -> str:
    """The class name of a training example, or the answer that a record states."""
    return sampled.dataset.class_names[sampled.sample.y_train[row]]


def identified(sampled: SampledProblem, rows: np.ndarray) -> dict[str, Sequence]:
    """Columns of a table that say which candidates its rows are."""
    new, n = sampled.sample.new, sampled.sample.n
    return {"training example": rows, **({"new candidate": [new[row - n] for row in rows]} if new else {
        "row in dataset": sampled.sample.train_index[rows]})}


def mark(source: ProblemSource) -> str:
    """What sets candidates apart that are outside the training data, in a word or two; empty for training examples."""
    return "new" if source.new_candidates else f"{source.tokens} alone" if source.partial else ""


def mark_of(sampled: SampledProblem, row: int) -> str:
    """The same for the card of one: a new candidate's own name, as its row or file has it."""
    return sampled.sample.new[row - sampled.sample.n] if row >= sampled.sample.n else mark(sampled.source)


def of_what(source: ProblemSource, scores: Scores) -> str:
    """Whether the candidates of scores are all training examples, some of them, or others, in brackets."""
    sizes = scores.provenance["sizes"]
    some = f"sampled at random from {sizes['train']:,} training examples"
    return f" ({mark(source) or ('all training examples' if sizes['candidates'] == sizes['train'] else some)})"


def noun(sampled: SampledProblem) -> str:
    """What a class of an example is called."""
    return sampled.dataset.noun


def words(sampled: SampledProblem, query: Query, scorings: Sequence[Scoring]) -> record_text.Ranges:
    """Where the words of a query stand that scorings ask about; none of a picture."""
    record = sampled.dataset.record("test", int(sampled.sample.query_index[query.index]))
    return () if record is None else record_text.queried(record, query.index, scorings, sampled.source.model)


def query_html(sampled: SampledProblem, query: Query, size: int, scorings: Sequence[Scoring] = ()) -> str:
    """Picture, text or row of a query, with the words that the scorings ask about marked in a text."""
    return _html(sampled, "test", int(sampled.sample.query_index[query.index]),
                 f"query {query.index}, {noun(sampled)} {query.label}", size, words=words(sampled, query, scorings))


def train_html(sampled: SampledProblem, row: int, size: int, shown: int = table_rows.SHOWN) -> str:
    """Picture, text or row of a training example."""
    return _html(sampled, "train", int(sampled.sample.train_index[row]),
                 f"{sampled.sample.called(row)}, {noun(sampled)} {label(sampled, row)}", size, shown)


def _html(sampled: SampledProblem, split: str, index: int, description: str, size: int,
          shown: int = table_rows.SHOWN, words: record_text.Ranges = ()) -> str:
    record = sampled.dataset.record(split, index)
    if record is not None:
        return record_text.html(record, size > SMALL, words)
    if sampled.dataset.image_shape is None:
        return table_rows.html(sampled.dataset, split, index, description, shown)
    return pictures.html(sampled.dataset, split, index, size, description)
