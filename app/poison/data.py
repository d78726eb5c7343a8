"""What the Poison page shows: the table of mistakes, the ranking as a table, and the picture of what suspects share."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
import pandas as pd
from PIL import Image

from app.widgets.examples import pictures, predictions, sampled_examples
from app.widgets.examples.sampled_examples import Query
from engine.desk import SampledProblem
from engine.desk.poison import Taught

MARK = (0xD5, 0x5E, 0x00)


def mistakes(sampled: SampledProblem) -> list[Query]:
    """The queries that the model gets wrong, the surest first."""
    problem = sampled.problem
    sure = problem.query_logits.softmax(-1).max(-1).values.tolist()
    return sorted((one for one in sampled_examples.queries(sampled) if not one.right), key=lambda one: -sure[one.index])


def table(sampled: SampledProblem, wrong: Sequence[Query]) -> pd.DataFrame:
    """A row a mistake."""
    sure = sampled.problem.query_logits.softmax(-1).max(-1).values
    frame = pd.DataFrame({"query": [one.index for one in wrong], "label": [one.label for one in wrong],
                          "the model says": [one.predicted for one in wrong],
                          "probability": [float(sure[one.index]) for one in wrong]})
    if sampled.dataset.image_shape is not None:
        rows = sampled.sample.query_index
        frame.insert(0, "picture", [pictures.data_url(sampled.dataset.key, "test", int(rows[one.index]),
                                                      sampled.dataset) for one in wrong])
    return frame


def ranking(sampled: SampledProblem, taught: Taught) -> pd.DataFrame:
    """A row a training example, the most suspicious first."""
    order = taught.order
    said = predictions.of_training(sampled, order.tolist())
    return pd.DataFrame({"rank": np.arange(1, len(order) + 1), **sampled_examples.identified(sampled, order),
                         "label": [sampled_examples.label(sampled, int(row)) for row in order],
                         "the model says": [one.said for one in said], "p(label)": [one.value for one in said],
                         "score": taught.scores[order]})


def marked(sampled: SampledProblem, rows: np.ndarray, common: np.ndarray) -> str | None:
    """The data URL of the suspects' mean picture with their common pixels in colour; None where examples are no
    pictures."""
    shape = sampled.dataset.image_shape
    if shape is None:
        return None
    mean = sampled.dataset.pictures("train", sampled.sample.train_index[rows]).mean(0)
    marked = np.repeat(mean[..., None], 3, -1) if len(shape) == 2 else mean
    where = common.reshape(shape) if len(shape) == 2 else common.reshape(shape).any(-1)
    marked[where] = MARK
    buffer = io.BytesIO()
    Image.fromarray(marked.round().astype(np.uint8)).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
