r"""Data Shapley values of a K-nearest-neighbour classifier in closed form (Jia et al. 2019, Theorem 1).

The value of a set S of training examples for one reference (x, y) is the fraction of its K nearest members with the
label y, v(S) = 1/K Σ_{k ≤ min(K, |S|)} 1[y_(k) = y]. With the n training examples sorted by distance, nearest first,

    s_n = 1[y_n = y] · min(K, n) / (nK),
    s_i = s_{i+1} + (1[y_i = y] − 1[y_{i+1} = y]) · min(K, i) / (iK),

and the value of an example is the mean over references. O(m n log n).
"""

from __future__ import annotations

import numpy as np

NEIGHBOURS = 10
BLOCK = 256


def values(features: np.ndarray, labels: np.ndarray, references: np.ndarray, reference_labels: np.ndarray,
           neighbours: int = NEIGHBOURS) -> np.ndarray:
    """Shapley value (n,) of each of the training examples, by Euclidean distance. features (n, d), labels (n,);
    references (m, d), reference_labels (m,)."""
    features, references = (np.asarray(one, dtype=np.float64) for one in (features, references))
    n, total, squares = len(labels), np.zeros(len(labels)), (features ** 2).sum(1)
    position = np.arange(1, n + 1)
    step = np.minimum(neighbours, position) / (position * neighbours)
    for start in range(0, len(references), BLOCK):
        queries, wanted = references[start:start + BLOCK], reference_labels[start:start + BLOCK]
        order = np.argsort(squares - 2 * queries @ features.T, axis=1, kind="stable")
        hits = (labels[order] == wanted[:, None]).astype(np.float64)
        terms = np.diff(hits, axis=1, append=0.0) * -step  # telescopes from the farthest to the nearest
        shares = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1]
        np.add.at(total, order.ravel(), shares.ravel())
    return total / len(references)
