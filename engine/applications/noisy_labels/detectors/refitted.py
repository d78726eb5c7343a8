r"""Reweighted refit: do models that weigh every label by how far it is believed believe this one?

    p⁰ = out of fold;   w_k = max(p⁰_y(k), ε);   p¹ = out of fold, fitted with the weights w and the penalty λ/3
    suspicion(k) = −½ (log p¹_y(k) + log f_{−k}(x_k)_y)

The first model has learned wrong labels, too; a label that it doubts weighs little in the next one, which needs less of
a penalty. f_{−k} is kernel
ridge regression with the same weights, without z_k (`kernel_removal`): what the examples most like it have as labels,
read by another kind of model. It estimates no influence: it is a prediction, not what an example did to it.
"""

from __future__ import annotations

import numpy as np

from engine.applications.noisy_labels.detectors import kernel_removal
from engine.applications.noisy_labels.detectors.readings import Readings

PENALTY = 1 / 3
LEAST = 0.02
"""ε, so that a class that every model doubts keeps its examples."""
FLOOR = 1e-3
"""The least probability that is told from another."""


def suspicion(readings: Readings) -> np.ndarray:
    """Minus the mean (n,) of what the two models give the label, in nats."""
    labels, p = readings.labels, readings.probabilities
    rows = np.arange(len(labels))
    weights = np.maximum(p[rows, labels], LEAST)
    fits = kernel_removal.fits(readings.inputs, labels, int(labels.max()) + 1, readings.seed, weights)
    both = readings.refitted(weights, PENALTY)[rows, labels], fits.without[rows, labels]
    return -np.mean([np.log(np.clip(one, FLOOR, 1)) for one in both], axis=0)
