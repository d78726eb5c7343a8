r"""What logistic regression says of examples that are rows of features, such as pretrained ones or columns of a table.

Columns are standardised. The penalty is chosen once, by the log-likelihood of the labels as they came on held-out parts
of at most `TUNED` rows: by nothing that knows which labels are wrong. The path is that of the same model trained by
stochastic gradient descent.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn

from engine.applications.noisy_labels.detectors.readings import Readings
from engine.applications.noisy_labels.folds import fold_of
from engine.models.recipe import Recipe
from engine.models.training import train

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""C of scikit-learn, which multiplies the sum of the losses."""
TUNED = 2_000
RECIPE = Recipe(epochs=10, batch_size=64, learning_rate=0.01, momentum=0.9, weight_decay=1e-3, schedule="cosine",
                checkpoints=10)


class FeatureReadings(Readings):
    """Of features (n, d) with labels (n,) in 0..classes−1. folds: into which the examples are parted, by the seed."""

    def __init__(self, features: np.ndarray, labels: np.ndarray, classes: int, seed: int = 0, folds: int = 5) -> None:
        self.labels, self.classes, self.seed = labels, classes, seed
        self._features, spread = features, features.std(0)
        self._x = ((features - features.mean(0)) / np.where(spread > 0, spread, 1)).astype(np.float32)
        self.fold_of = fold_of(labels, folds, seed)

    @property
    def features(self) -> np.ndarray:
        return self._features

    @property
    def inputs(self) -> np.ndarray:
        return self._features

    @cached_property
    def penalty(self) -> float:
        """The C of the most likely held-out labels."""
        from sklearn.model_selection import GridSearchCV

        rows = np.random.default_rng([self.seed, 7]).permutation(len(self.labels))[:TUNED]
        search = GridSearchCV(_logistic(1.0), {"C": PENALTIES}, scoring="neg_log_loss", cv=3)
        return float(search.fit(self._x[rows], self.labels[rows]).best_params_["C"])

    @cached_property
    def probabilities(self) -> np.ndarray:
        return self.refitted(np.ones(len(self.labels)))

    def refitted(self, weights: np.ndarray) -> np.ndarray:
        p = np.zeros((len(self.labels), self.classes))
        for fold in np.unique(self.fold_of):
            rows, held = (self.fold_of != fold) & (weights > 0), self.fold_of == fold
            fitted = _logistic(self.penalty).fit(self._x[rows], self.labels[rows], sample_weight=weights[rows])
            p[np.ix_(held, fitted.classes_)] = fitted.predict_proba(self._x[held])
        return p

    @cached_property
    def path(self) -> np.ndarray:
        x, width, classes = torch.from_numpy(self._x), self._x.shape[1], self.classes
        trained = train(lambda: nn.Linear(width, classes), x, torch.from_numpy(self.labels), RECIPE, self.seed)
        logits = [x @ state["weight"].T + state["bias"] for state, _ in trained.checkpoints]
        return torch.stack(logits).double().numpy()

    @property
    def references(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        parts = [(np.flatnonzero(self.fold_of != fold), self.fold_of == fold) for fold in np.unique(self.fold_of)]
        return [(rows, self._features[held], self.labels[held]) for rows, held in parts]


def _logistic(penalty: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=penalty, max_iter=200, tol=1e-3)
