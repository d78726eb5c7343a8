"""What there is to choose from, as tables."""

from __future__ import annotations

import pandas as pd

from engine.data import DATASETS
from engine.estimators import ESTIMATORS
from engine.problems import PROBLEMS
from engine.question.behaviors import BEHAVIORS


def behaviors() -> pd.DataFrame:
    """Every behavior B: name, title, what it is read off (classes or tokens), and whether it has a gradient.

    >>> import whichfluence as wf
    >>> wf.behaviors().set_index("name").gradient["correct"].item()
    False
    """
    rows = [(name, one.title, one.reads, one.differentiable) for name, one in BEHAVIORS.items()]
    return pd.DataFrame(rows, columns=["name", "title", "reads", "gradient"])


def estimators() -> pd.DataFrame:
    """Every estimator: name, title, the kinds of model that it serves, the processes that it targets, its settings with
    their defaults, and a note.

    >>> import whichfluence as wf
    >>> "cg" in set(wf.estimators().name)
    True
    """
    rows = [(name, one.title, ", ".join(kind.noun for kind in PROBLEMS.values() if one.serves(kind)),
             ", ".join(one.routes),
             {} if one.settings is None else one.settings().model_dump(), one.note) for name, one in ESTIMATORS.items()]
    return pd.DataFrame(rows, columns=["name", "title", "models", "processes", "settings", "note"])


def datasets() -> pd.DataFrame:
    """Every dataset that comes with the program: name, title, and what it holds.

    >>> import whichfluence as wf
    >>> wf.datasets().set_index("name").title["digits"]
    'Handwritten digits'
    """
    return pd.DataFrame([(name, one.title, one.note) for name, one in DATASETS.items()],
                        columns=["name", "title", "note"])
