r"""Data-OOB values of a bagging ensemble (Kwon & Zou 2023).

    ψ_k = Σ_b 1[k ∉ bag b] 1[h_b(x_k) = y_k] / Σ_b 1[k ∉ bag b]

over trees h_b, each of a bootstrap sample, as scikit-learn's forest grows them: to the end, so that a leaf says one
class. An example that every bag has holds no value and gets the mean of the others.
"""

from __future__ import annotations

import warnings

import numpy as np

TREES = 50


def values(features: np.ndarray, labels: np.ndarray, seed: int, trees: int = TREES) -> np.ndarray:
    """The fraction (n,) of the trees without an example that give it its label. features (n, d), labels (n,)."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(trees, oob_score=True, random_state=seed % 2**32, n_jobs=1)
    with warnings.catch_warnings():  # of examples that every bag has
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        forest.fit(features, labels)
    votes = forest.oob_decision_function_
    own = votes[np.arange(len(labels)), np.searchsorted(forest.classes_, labels)]
    left_out = votes.sum(1) > 0
    return np.where(left_out, own, own[left_out].mean())
