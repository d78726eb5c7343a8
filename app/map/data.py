"""The dots of the map: coordinates, what colours them, and what each says on hover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from app.charts import dots
from app.map.state import SAID, SCORE, MapChoice
from app.widgets.examples import cards, dot_pictures, hues, predictions, sampled_examples
from app.widgets.jobs.desk import desk
from engine.desk import ProblemSource, SampledProblem, Waiting
from engine.desk.analyses import Embedding, EmbeddingRequest
from engine.scoring.scores import Scores

RIGHT, WRONG = "predicted as labelled", "predicted as another class"
SCORED, UNSCORED = "scored", "no score"


@dataclass(frozen=True, eq=False)
class Dots:
    """points: as `app.charts.dots` takes them, with `label`. order: of the series; quiet: the one in grey."""

    points: pd.DataFrame
    order: list[str]
    quiet: str = ""


def embedding(source: ProblemSource, chosen: MapChoice) -> Embedding | Waiting | str:
    """The coordinates, or what to wait for."""
    return desk().ask(EmbeddingRequest(method=chosen.method, dimensions=chosen.dimensions).of(source))


def placed(sampled: SampledProblem, embedded: Embedding, chosen: MapChoice, scores: Scores | None) -> Dots:
    """One dot per training example. scores: of one scoring, where these colour the dots."""
    labels = [sampled_examples.label(sampled, row) for row in range(len(embedded.coordinates))]
    points = pd.DataFrame(embedded.coordinates, columns=list("xyz")[:chosen.dimensions])
    points.insert(0, "row", np.arange(len(labels)))
    points["label"] = labels
    lines = [[f"training example {row}", f"{sampled_examples.noun(sampled)} {label}"] for row,
             label in enumerate(labels)]
    series, order, quiet = _series(sampled, labels, chosen)
    if scores is not None:
        points["value"] = np.nan
        points.loc[scores.candidates, "value"] = scores.trusted[chosen.query]
        series = np.where(points.value.notna(), SCORED, UNSCORED).tolist()
        for line, value in zip(lines, points.value, strict=True):
            line.append(f"score {cards.number(value)}")
    describe = dot_pictures.description(sampled.dataset)
    for row, line in enumerate(lines):
        line += describe(int(sampled.sample.train_index[row]))
    points["series"], points["text"] = series, [dots.said(*line) for line in lines]
    if scores is not None:  # the strongest on top
        points = points.sort_values("value", key=abs, na_position="first", kind="stable", ignore_index=True)
    return Dots(points, order, quiet)


def _series(sampled: SampledProblem, labels: list[str], chosen: MapChoice) -> tuple[list[str], list[str], str]:
    """(series of each dot, their order, the quiet one)."""
    if chosen.hue == SAID:
        said = predictions.of_training(sampled, range(len(labels)))
        right = [one.said == label for one, label in zip(said, labels, strict=True)]
        return np.where(right, RIGHT, WRONG).tolist(), [WRONG, RIGHT], RIGHT
    if chosen.hue == SCORE:
        return [UNSCORED] * len(labels), [SCORED, UNSCORED], UNSCORED
    return hues.series(chosen.hue, sampled.dataset, labels, sampled.sample.train_index)
