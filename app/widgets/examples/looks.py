"""Training examples in the tooltips of charts: their pictures, or their words."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from app.charts import tips
from app.widgets.examples import pictures, record_text
from engine.desk.datasets import Dataset

MOST = 200
"""Examples of a chart up to which their pictures travel with it."""


def added(frame: pd.DataFrame, dataset: Dataset, indices: Sequence[int]) -> pd.DataFrame:
    """The table of a chart, a row an example, with what its tooltips show. indices: rows of the dataset's train split.

    Unchanged where there are more than MOST rows, or examples are neither pictures nor texts.
    """
    if len(frame) > MOST:
        return frame
    if dataset.records is not None:
        return frame.assign(**{tips.WORDS: [record_text.short(dataset.records[0][index]) for index in indices]})
    if dataset.image_shape is None:
        return frame
    return frame.assign(**{tips.PICTURE: [pictures.data_url(dataset.key, "train", int(index), dataset)
                                          for index in indices]})
