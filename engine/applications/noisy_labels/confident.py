"""A shuffled order, and what models say of examples that they were not trained on."""

from __future__ import annotations

import numpy as np
import torch

from engine.applications.noisy_labels.source import NoisySource, Refitting
from engine.basics.options import Options

FOLDS = 3


def shuffled(source: NoisySource, count: int) -> np.ndarray:
    """A suspicion (n,) that says nothing, drawn once for a source."""
    return np.random.default_rng([source.mask, source.seed, 5]).permutation(count).astype(np.float64)


def out_of_sample(model: Refitting, options: Options, weights: np.ndarray | None = None, folds: int = FOLDS
                  ) -> np.ndarray:
    """p(x_k) (n, C) by models that were trained without z_k, one a stratified fold.

    weights: of the examples in these trainings, (n,); default: one each.
    """
    from sklearn.model_selection import StratifiedKFold

    x, y = torch.tensor(model.evidence.x), model.evidence.y
    folds = min(folds, int(np.bincount(y)[np.unique(y)].min()))
    if folds < 2:
        folds = 2  # a class of one example: its fold has none of it to learn from
    probabilities = np.zeros((len(y), model.evidence.classes))
    splits = StratifiedKFold(folds, shuffle=True, random_state=model.source.seed).split(model.evidence.x, y)
    for number, (rows, held) in enumerate(splits):
        rest = np.zeros(len(y), dtype=np.float32)
        rest[rows] = 1 if weights is None else weights[rows]
        fitted = model.fit(rest, options.stage(number, folds))
        with torch.no_grad():
            probabilities[held] = torch.cat([fitted(chunk.to(model.device)).softmax(-1).cpu() for chunk in
                                             x[held].split(512)]).numpy()
    return probabilities
