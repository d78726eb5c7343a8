r"""Reweighted refit: do models that weigh every label by how far it is believed believe this one?

    p⁰ = out of fold;   w_k = max(p⁰_y(k), ε);   p¹ = out of fold, fitted with the weights w and the penalty λ/3
    s_j(k) = log p¹_j(k) + log f_{−k}(x_k)_j + ½ log T_jy
    suspicion(k) = max_{j≠y} s_j(k) − s_y(k)

The first model has learned wrong labels, too; a label that it doubts weighs little in the next one, which needs less of
a penalty. f_{−k} is kernel ridge regression with the same weights, without z_k (`kernel_removal`): what the examples
most like it have as labels, read by another kind of model. T_jc is how often an example of class j is labelled c
(`noise_transition`). The weight ½ of T was chosen with other seeds: T is read off the same two models. It estimates no
influence: it is a prediction, not what an example did to it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from engine.applications.noisy_labels.detectors import kernel_removal
from engine.applications.noisy_labels.detectors.readings import Readings

PENALTY = 1 / 3
LEAST = 0.02
"""ε, so that a class that every model doubts keeps its examples."""
FLOOR = 1e-3
"""The least probability that is told from another."""
KEPT, ROUNDS = 0.9, 10
"""Where the fraction of right labels starts in T, and after how many rounds T is taken as it is."""


def suspicion(readings: Readings) -> np.ndarray:
    """By how much (n,) another class is preferred to the label, in nats."""
    labels, p = readings.labels, readings.probabilities
    weights = np.maximum(p[np.arange(len(labels)), labels], LEAST)
    near = kernel_removal.fits(readings.inputs, labels, p.shape[1], readings.seed, weights).without
    both = sum(np.log(np.clip(one, FLOOR, 1)) for one in (readings.refitted(weights, PENALTY), near))
    flips = noise_transition(softmax(both / 2, axis=1), labels)
    return -kernel_removal.margin(both + np.log(flips[:, labels].T) / 2, labels)


def noise_transition(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """T (C, C): P(label c | right label j), given p (n, C) of the right label; by EM (Dawid & Skene 1979, with one
    annotator), every count half an example larger. C of at least two."""
    classes = p.shape[1]
    flips = np.where(np.eye(classes, dtype=bool), KEPT, (1 - KEPT) / (classes - 1))
    for _ in range(ROUNDS):
        right = p * flips[:, labels].T
        right /= right.sum(1, keepdims=True)
        counts = right.T @ np.eye(classes)[labels] + 0.5
        flips = counts / counts.sum(1, keepdims=True)
    return flips
