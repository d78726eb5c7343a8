"""Labels ranked by how likely they are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.own import own_source
from engine.applications.noisy_labels.pairs import MAIN
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.data import DATASETS
from engine.jobs import run_job


def noisy_labels(data: str | Path = "digits", methods: Sequence[str] = tuple(MAIN), **settings: Any) -> pd.DataFrame:
    """Train on labels as they are, and rank them by how likely they are wrong; the result is stored, and computed once.

    Args:
        data: a name of `wf.datasets()`, of whose labels a fraction `noise` is replaced by others at random; or the path
            of your own data (a folder or zip of pictures, a table, an npz), whose labels are searched as they are.
        methods: which rankings: `random`, `repsim`, `ntk`, `gradsim`, `tracin`, `lissa`, `confident`.
        settings: `n_train`, `n_test`, `trusted` (verified examples of every class), `noise`, `model`, `seed`, `recipe`;
            of your own data what is left out fits the data.

    Returns:
        One row a label, in the order of the training set: row, dataset_row, label, empty columns for decisions,
        what the model predicts, and a column a ranking with the suspicion of the label, larger where it is more likely
        wrong.

    Raises:
        InvalidInput: for settings that do not fit the data.
        MissingData: for a path that is not there.

    >>> import whichfluence as wf
    >>> table = wf.noisy_labels("digits", ["repsim"], n_train=60, n_test=20, trusted=2, model="mlp")
    >>> table.columns[6], len(table)
    ('RepSim', 60)
    """
    source = NoisySource.parse({"dataset": data, **settings}) if data in DATASETS else own_source(Path(data), settings)
    request = SuspicionRequest(source=source, methods=tuple(methods))
    return request.answered(run_job(request.name, request.payload)).table(draw_cached(source))
