r"""Suspicion from class probabilities of models that have not seen the example, as the package cleanlab scores them.

    self-confidence       −p_y                                                      Northcutt et al. 2021
    normalised margin     −(p_y − max_{j≠y} p_j + 1) / 2                            Northcutt et al. 2021
    confident learning    off the diagonal of the confident joint first, then 1 − p_y

p (n, C): out of fold. A class that no label has is left out, as cleanlab wants it, and p is normalised over the others.
"""

from __future__ import annotations

import numpy as np


def self_confidence(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Minus the probability (n,) of the label."""
    return -_quality(labels, probabilities, "self_confidence")


def normalized_margin(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Minus the margin (n,) of the label's probability over that of the most likely other class, in [−1, 0]."""
    return -_quality(labels, probabilities, "normalized_margin")


def confident_learning(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Suspicion (n,): examples off the diagonal of the confident joint first, then all by low self-confidence."""
    from cleanlab.filter import find_label_issues

    issues = find_label_issues(*_of_present(labels, probabilities), filter_by="confident_learning", n_jobs=1)
    return issues + 1.0 + self_confidence(labels, probabilities)


def _of_present(labels: np.ndarray, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) as numbers of the C' classes that have one, and probabilities (n, C') over these."""
    present = np.unique(labels)
    p = probabilities[:, present]
    return np.searchsorted(present, labels), p / p.sum(1, keepdims=True)


def _quality(labels: np.ndarray, probabilities: np.ndarray, method: str) -> np.ndarray:
    from cleanlab.rank import get_label_quality_scores

    return get_label_quality_scores(*_of_present(labels, probabilities), method=method)
