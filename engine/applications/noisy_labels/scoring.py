"""Every wanted method's suspicion at once, so that methods share their passes over the data."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from engine.applications.noisy_labels import gradient_scores, reference_scores, similarity_scores
from engine.applications.noisy_labels.pairs import METHODS, Pair
from engine.applications.noisy_labels.source import TrainedModel
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.registry import unknown

AUGMENTED = "augmented"
FAMILIES = (reference_scores, similarity_scores, gradient_scores)


def suspicions(model: TrainedModel, wanted: Collection[str], options: Options | None = None) -> dict[Pair, np.ndarray]:
    """(method, behavior) -> suspicion (n,) of every training example, larger for a label more likely wrong.

    wanted: names in `METHODS`, or `augmented` for RepSim with signals. Raises `InvalidInput` for another name.
    """
    known = {*METHODS, AUGMENTED}
    if other := sorted(set(wanted) - known):
        raise InvalidInput(unknown("method", other[0], sorted(known)))
    found: dict[Pair, np.ndarray] = {}
    for family in FAMILIES:
        found |= family.score(model, wanted, options or Options())
    order = [METHODS[name].title for name in METHODS]
    return dict(sorted(found.items(), key=lambda item: order.index(item[0].method) if item[0].method in order
                       else len(order)))
