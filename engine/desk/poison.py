"""What taught a wrong prediction, as a front end asks for it: model, ranking, what suspects share, retraining."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

import numpy as np
import pandas as pd

from engine import data
from engine.analysis.poison import shared
from engine.analysis.poison.retraining import BEFORE, CONTROL, WITHOUT
from engine.analysis.poison.taught import Taught, standing_apart
from engine.data import poisoned
from engine.data.new_files import survey_of
from engine.data.pixels import as_input
from engine.experiments.poison_records import recipe
from engine.models.causal.catalogue import EMBEDDED_MODEL, is_embedded
from engine.models.causal.vocabulary import unknown_fraction
from engine.models.recipe import Recipe
from engine.problems import ProblemSource, SampledProblem
from engine.requests.training import TrainingRequest

PLANTED, PLANTED_RECORDS = poisoned.NAME, poisoned.RECORDS
"""The data with a planted backdoor, to try it on."""
RECIPE = Recipe(epochs=12, batch_size=64, learning_rate=0.05, momentum=0.9, schedule="cosine", precision="mixed")
MOST_TRAIN, MOST_TEST = 20_000, 1_000
SMALLEST_PICTURE = 8
MOST_RECORDS, MOST_RECORD_QUERIES, MOST_COUNTED = 2_000, 250, 300


def source(name: str, model: str = "") -> ProblemSource:
    """All training examples, up to 20,000, and a network that reads pictures at full size: an average over pixels would
    wash a patch out. Of records the first `MOST_RECORDS`, and a language model, by default the embedded one.

    Raises as `data.load`."""
    dataset = data.load(name)
    if dataset.records is not None:
        model = model or EMBEDDED_MODEL
        queries, count = min(MOST_RECORD_QUERIES, len(dataset.y_test)), min(MOST_RECORDS, len(dataset.y_train))
        return ProblemSource(dataset=name, model=model, n_train=count, n_test=queries, n_queries=queries,
                             recipe=recipe(count) if is_embedded(model) else None)
    pictured = dataset.image_shape is not None and min(dataset.image_shape[:2]) >= SMALLEST_PICTURE
    test = min(MOST_TEST, len(dataset.y_test))
    return ProblemSource(dataset=name, model="cnn" if pictured else "mlp", recipe=RECIPE, l2=5e-4,
                         n_train=min(MOST_TRAIN, len(dataset.y_train)), n_test=test, n_queries=test)


def unknown_words(name: str, model: str) -> float:
    """The fraction of the words of its records, by the first of them, that a model reads as one unknown word."""
    records = data.load(name).records
    texts = [f"{one.prompt} {one.response}" for one in (records[0] if records else ())[:MOST_COUNTED]]
    return unknown_fraction(model, texts)


def training(source: ProblemSource) -> TrainingRequest:
    """The request that trains the model of a source."""
    return TrainingRequest().of(source)


def common(sampled: SampledProblem, rows: np.ndarray, label: int) -> np.ndarray:
    """(d,) bool: the features that the suspects `rows` share and the other training examples with that label do not."""
    return shared.features(sampled.dataset.features("train", sampled.sample.train_index), rows,
                           _others(sampled, rows, label))


def common_columns(sampled: SampledProblem, frame: pd.DataFrame, rows: np.ndarray, label: int
                   ) -> list[tuple[str, str]]:
    """(column, value) that they share in a table. frame: its training rows, as `rows_of` gives them."""
    return shared.values(frame.iloc[sampled.sample.train_index], rows, _others(sampled, rows, label))


def common_words(sampled: SampledProblem, rows: np.ndarray, label: int) -> list[str]:
    """The same of the words of prompts, or of a table with texts; none of other data."""
    dataset, train = sampled.dataset, sampled.sample.train_index
    if dataset.records is not None:
        own = [dataset.records[0][row].prompt for row in train]
    elif dataset.texts is not None:
        own = [dataset.texts[0][row] for row in train]
    else:
        return []
    return shared.words(own, rows.tolist(), _others(sampled, rows, label).tolist())


def _others(sampled: SampledProblem, rows: np.ndarray, label: int) -> np.ndarray:
    """The other training examples with that label; all other records, whatever they state."""
    alike = np.arange(sampled.sample.n) if sampled.dataset.records is not None else (
        np.flatnonzero(sampled.sample.y_train == label))
    return np.setdiff1d(alike, rows)


def picture(content: bytes, sampled: SampledProblem, name: str) -> tuple[float, ...]:
    """A picture as the model takes it. Raises `InvalidInput` for what is none."""
    return as_input(content, tuple(sampled.problem.x.shape[1:]), name, survey_of(sampled.dataset))
