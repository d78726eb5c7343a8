r"""Refit without suspects: do models that saw neither this example nor the labels that they doubt believe its label?

    p⁰ = out of fold;   p^r = out of fold, fitted to the examples k with argmax p^{r−1}(k) = y_k alone
    suspicion(k) = −½ (1/R Σ_{r=1}^{R} p^r_y(k) + f_{−k}(x_k)_y)

The first model has learned wrong labels, too, and believes some of them; a label that it doubts teaches the next one
nothing. f_{−k} is kernel ridge regression without z_k (`kernel_removal`), in [0, 1]: the labels of the examples most
like it, which another kind of model reads. It estimates no influence: what is asked is a prediction, not what an
example did to it.
"""

from __future__ import annotations

import numpy as np

from engine.applications.noisy_labels.detectors.readings import Readings

ROUNDS = 2


def suspicion(readings: Readings, rounds: int = ROUNDS) -> np.ndarray:
    """Minus the mean (n,) of what the rounds and the kernel give the label. A class that every model doubts keeps all
    of its examples."""
    labels, p = readings.labels, readings.probabilities
    rows, total = np.arange(len(labels)), np.zeros(len(labels))
    for _ in range(rounds):
        p = readings.refitted(believed(labels, p).astype(np.float64))
        total += p[rows, labels]
    return -(total / rounds + np.clip(readings.removal.without[rows, labels], 0, 1)) / 2


def believed(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Which examples (n,) have the label that is most likely, or one that no example of its class has so."""
    agrees = probabilities.argmax(1) == labels
    return agrees | ~np.isin(labels, labels[agrees])
