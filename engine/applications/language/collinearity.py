"""How alike two behaviors are to every estimator that reads gradients: cosines of their mean query gradients."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from engine.applications.language.rankings import behavior_title
from engine.gradients.cached import CachedCheckpoint, CachedFeatures


def cosines(features: CachedFeatures) -> list[dict[str, Any]]:
    """⟨ḡ_A, ḡ_B⟩ / (‖ḡ_A‖ ‖ḡ_B‖) of every two behaviors, with ḡ_B the mean over queries of ∇B, as it is held.

    A row a pair: behaviors (their titles), cosine (a number a checkpoint, in the order of the training). Scores that
    are linear in ḡ rank alike where it is 1. NaN where a mean gradient is zero.
    """
    points = [_directions(point) for point in features.points]
    return [{"behaviors": [behavior_title(first), behavior_title(second)],
             "cosine": [float(of[first] @ of[second]) for of in points]}
            for first, second in combinations(features.behaviors, 2)]


def _directions(point: CachedCheckpoint) -> dict[str, np.ndarray]:
    """behavior -> ḡ scaled to length one, (k,) float64."""
    means = {name: np.asarray(rows).mean(0, dtype=np.float64) for name, rows in point.queries.items()}
    with np.errstate(invalid="ignore"):
        return {name: mean / np.linalg.norm(mean) for name, mean in means.items()}
