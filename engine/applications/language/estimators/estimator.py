"""What an estimator of language-model influence is: a score for every query and record, and the question behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.applications.language.features import Features
from engine.basics.errors import InvalidInput


@dataclass(frozen=True)
class LanguageEstimator:
    """score(features, behavior) -> (m, n), positive where the record supports the behavior.

    label: its name in the paper's tables. behavioral: whether it reads the behavior. directed: whether its sign says
    if a record helps or harms; one that is not directed is ranked as it is. intervention, process: of the
    specification that it implies, None where there is none.

    directions(features, behavior) -> checkpoint -> u (k,), where the mean score over queries is Σ ⟨u, gradient⟩ over
    checkpoints, so that it can be shared among a record's tokens; with `conditioned` the gradient is Adam's update at
    length one. None where the score is no such sum; `whole` says why in a sentence.
    """

    name: str
    label: str
    note: str
    source: str
    score: Callable[[Features, str], np.ndarray]
    behavioral: bool = True
    directed: bool = True
    intervention: Mapping[str, Any] | None = None
    process: Mapping[str, Any] | None = None
    directions: Callable[[Features, str], dict[int, np.ndarray]] | None = None
    conditioned: bool = False
    whole: str = ""

    def shares(self, features: Features, behavior: str) -> dict[int, np.ndarray]:
        """The directions. Raises `InvalidInput` where the score is no sum over tokens."""
        if self.directions is None:
            raise InvalidInput(self.whole or f"{self.label} is no sum over tokens; choose another estimator.")
        return self.directions(features, behavior)


def products(queries: np.ndarray, records: np.ndarray) -> np.ndarray:
    """⟨q, z⟩ of all pairs, (m, n), in float32."""
    return np.asarray(queries, dtype=np.float32) @ np.asarray(records, dtype=np.float32).T


def mean_query(rows: np.ndarray) -> np.ndarray:
    """The mean of the rows, (k,), in float64."""
    return np.asarray(rows).mean(0, dtype=np.float64)


def normalised(rows: np.ndarray) -> np.ndarray:
    """Rows of length one; a zero row stays zero."""
    rows = np.asarray(rows, dtype=np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
