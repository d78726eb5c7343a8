r"""Suspicion without a trusted set: every part of the labels is held out in turn, and measures what the others do.

    suspicion(k) = −1/(F−1) Σ_{f ≠ f(k)} A_{q ∈ D_f} s_f(q, k),   s_f of the model trained on D \ D_f

F folds D_f, f(k) the fold of z_k, A as each method puts scores together. Every label is judged by the F−1 models that
were trained on it, each with examples that it has not seen; their labels are in doubt, too, so that the mean over many
has to carry what single ones may get wrong. What a model says of an example, and confident learning with it, comes from
the one model that has not seen it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.applications.noisy_labels.detectors.methods import HELD_OUT
from engine.applications.noisy_labels.detectors.readings import Probabilities
from engine.applications.noisy_labels.pairs import METHODS, Pair, reading
from engine.applications.noisy_labels.scoring import detected, shuffled
from engine.applications.noisy_labels.source import NoisyData


@dataclass(frozen=True, eq=False)
class Fold:
    """What one model found. suspicion: of its n_f training labels. probabilities (h, C): of the held-out examples.
    nearest (h, r): the training examples of this model that look most alike to it, as rows of them."""

    suspicion: Mapping[Pair, np.ndarray]
    probabilities: np.ndarray
    nearest: np.ndarray


def suspicions(fold_of: np.ndarray, folds: Sequence[Fold]) -> dict[Pair, np.ndarray]:
    """(method, behavior) -> suspicion (n,), the mean over the models that were trained on a label."""
    means = {}
    for pair in folds[0].suspicion:
        total = np.zeros(len(fold_of))
        for number, fold in enumerate(folds):
            total[fold_of != number] += fold.suspicion[pair]
        means[pair] = total / (len(folds) - 1)
    return means


def out_of_fold(fold_of: np.ndarray, folds: Sequence[Fold]) -> np.ndarray:
    """p(x_k) (n, C) by the model that was trained without z_k."""
    probabilities = np.empty((len(fold_of), folds[0].probabilities.shape[1]))
    for number, fold in enumerate(folds):
        probabilities[fold_of == number] = fold.probabilities
    return probabilities


def nearest(fold_of: np.ndarray, folds: Sequence[Fold]) -> np.ndarray:
    """(n, r) rows of the training set, by the model that was trained without z_k."""
    rows = np.empty((len(fold_of), folds[0].nearest.shape[1]), dtype=np.int64)
    for number, fold in enumerate(folds):
        rows[fold_of == number] = np.flatnonzero(fold_of != number)[fold.nearest]
    return rows


def references(data: NoisyData, probabilities: np.ndarray, wanted: Collection[str]) -> dict[Pair, np.ndarray]:
    """The wanted ones of a shuffled order and of what reads held-out models alone, which need no trusted set."""
    scores: dict[Pair, np.ndarray] = {}
    if "random" in wanted:
        scores[Pair(METHODS["random"].title)] = shuffled(data.source, len(probabilities))
    return scores | detected(Probabilities(data.evidence.y, probabilities), set(wanted) & set(reading(HELD_OUT)))
