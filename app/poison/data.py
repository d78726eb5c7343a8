"""What the Poison page shows: the table of mistakes, the ranking as a table, and the picture of what suspects share."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
import pandas as pd
from PIL import Image

from app.widgets.examples import pictures, predictions, record_text, sampled_examples, table_rows
from app.widgets.examples.sampled_examples import Query
from engine.desk import SampledProblem
from engine.desk.datasets import Record
from engine.desk.poison import Taught

MARK = (0xD5, 0x5E, 0x00)


def is_table(sampled: SampledProblem) -> bool:
    """Whether its examples are rows of a table."""
    return sampled.dataset.image_shape is None and sampled.dataset.records is None


def record(sampled: SampledProblem, query: int) -> Record | None:
    """A query as a record; None of other data."""
    return sampled.dataset.record("test", int(sampled.sample.query_index[query]))


def mistakes(sampled: SampledProblem) -> list[Query]:
    """The queries that the model gets wrong, the surest first; of records those that state an answer."""
    wrong = [one for one in sampled_examples.queries(sampled) if not one.right]
    if sampled.dataset.records is None:
        sure = sampled.problem.query_logits.softmax(-1).max(-1).values.tolist()
        return sorted(wrong, key=lambda one: -sure[one.index])
    return sorted(wrong, key=lambda one: one.prediction.value)


def judged(sampled: SampledProblem) -> bool:
    """Whether it is known of any query what is right."""
    held_out = None if sampled.dataset.records is None else sampled.dataset.records[1]
    return held_out is None or any(one.answer for one in held_out)


def table(sampled: SampledProblem, wrong: Sequence[Query]) -> pd.DataFrame:
    """A row a mistake."""
    frame = pd.DataFrame({"query": [one.index for one in wrong], sampled_examples.noun(sampled): [
        one.label for one in wrong], "predicted": [one.predicted for one in wrong]})
    if sampled.dataset.records is not None:
        return frame.assign(**predictions.columns([one.prediction for one in wrong]), prompt=[
            record_text.short(own, 400) for one in wrong if (own := record(sampled, one.index)) is not None])
    sure = sampled.problem.query_logits.softmax(-1).max(-1).values
    rows = sampled.sample.query_index[[one.index for one in wrong]]
    frame["probability"] = [float(sure[one.index]) for one in wrong]
    if sampled.dataset.image_shape is None:
        return table_rows.beside(frame, table_rows.frame(sampled.dataset, "test").iloc[rows])
    frame.insert(0, "picture", [pictures.data_url(sampled.dataset.key, "test", int(row), sampled.dataset)
                                for row in rows])
    return frame


def ranking(sampled: SampledProblem, taught: Taught) -> pd.DataFrame:
    """A row a training example, the most suspicious first."""
    order = taught.order
    frame = pd.DataFrame({"rank": np.arange(1, len(order) + 1), **sampled_examples.identified(sampled, order),
                          sampled_examples.noun(sampled): [sampled_examples.label(sampled, int(row)) for row in order],
                          "score": taught.scores[order]})
    rows = sampled.sample.train_index[order]
    if (records := sampled.dataset.records) is not None:
        return frame.assign(prompt=[records[0][row].prompt for row in rows],
                            response=[records[0][row].response for row in rows])
    said = predictions.of_training(sampled, order.tolist())
    frame = frame.assign(predicted=[one.said for one in said], **predictions.columns(said))
    return table_rows.beside(frame, table_rows.frame(sampled.dataset, "train").iloc[rows]) if is_table(sampled) else (
        frame)


def marked(sampled: SampledProblem, rows: np.ndarray, common: np.ndarray) -> str:
    """The data URL of the suspects' mean picture with their common pixels in colour."""
    shape = sampled.dataset.image_shape
    assert shape is not None, "of images"
    mean = sampled.dataset.pictures("train", sampled.sample.train_index[rows]).mean(0)
    marked = np.repeat(mean[..., None], 3, -1) if len(shape) == 2 else mean
    where = common.reshape(shape) if len(shape) == 2 else common.reshape(shape).any(-1)
    marked[where] = MARK
    buffer = io.BytesIO()
    Image.fromarray(marked.round().astype(np.uint8)).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
