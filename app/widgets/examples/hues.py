"""What dots of training examples can be coloured by on every page: their label, and what is known of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.charts import dots
from engine.desk.datasets import Dataset

LABEL, FLAG = "label", "flag"


def of_data(dataset: Dataset) -> dict[str, str]:
    """Those that fit the data, with their names."""
    offered = {LABEL: (dataset.noun, dots.few_classes(dataset)), FLAG: ("known flag", dataset.flags is not None)}
    return {hue: title for hue, (title, fits) in offered.items() if fits}


def series(hue: str, dataset: Dataset, labels: Sequence[str], rows: np.ndarray) -> tuple[list[str], list[str], str]:
    """(series of each dot, their order, the quiet one or an empty text). labels: of the dots; rows: of them in the
    dataset's training split."""
    if hue == FLAG:
        return dots.flagged(dataset, rows), list(dots.FLAGGED), dots.FLAGGED[1]
    assert hue == LABEL, f"{hue} colours nothing"
    return list(labels), list(dict.fromkeys([*dataset.class_names, *labels])), ""
