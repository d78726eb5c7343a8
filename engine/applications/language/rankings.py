"""The rankings of training records that a study or a run reads off the features of its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from engine.applications.language.methods import METHODS, REPSIM, RecordMethod, pairs
from engine.gradients.cached import CachedFeatures
from engine.models.causal.readouts import READOUTS


def rankings(features: CachedFeatures, sign: int, layers: Sequence[float] = (),
             methods: Mapping[str, RecordMethod] = METHODS) -> dict[tuple[str, str], np.ndarray]:
    """(method, behavior) as the paper's tables write them -> (n,) scores, the sought records' expected to be large.

    layers: where RepSim is read besides its own layer.
    """
    scores, similarity = {}, methods[REPSIM.name]
    for method, behavior in pairs(features.behaviors, methods):
        scores[method.label, behavior_title(behavior)] = _ranking(method, features, behavior, sign)
    for depth in layers:
        there = replace(features, layer=depth)
        scores[at_layer(REPSIM.label, depth), "none"] = _ranking(similarity, there, "none", sign)
    return scores


def _ranking(method: RecordMethod, features: CachedFeatures, behavior: str, sign: int) -> np.ndarray:
    mean = method.mean_score(features, behavior)
    return sign * mean if method.directed else mean


def at_layer(label: str, depth: float) -> str:
    """`RepSim at 50%`: a method that reads a layer, with the fraction of the depth where it reads."""
    return f"{label} at {depth:.0%}"


def behavior_title(name: str) -> str:
    """`Response loss`, or `none`."""
    return READOUTS[name].title if name in READOUTS else name
