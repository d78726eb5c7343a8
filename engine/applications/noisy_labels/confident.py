"""What influence is measured against: a shuffled order, and confident learning, which asks no influence question."""

from __future__ import annotations

import numpy as np
import torch

from engine.applications.noisy_labels.source import NoisySource, TrainedModel
from engine.basics.options import Options

FOLDS = 3


def shuffled(source: NoisySource, count: int) -> np.ndarray:
    """A suspicion (n,) that says nothing, drawn once for a source."""
    return np.random.default_rng([source.mask, source.seed, 5]).permutation(count).astype(np.float64)


def out_of_sample(model: TrainedModel, options: Options, folds: int = FOLDS) -> np.ndarray:
    """p(x_k) (n, C) by models of the same kind that were trained without z_k, one a stratified fold."""
    from sklearn.model_selection import StratifiedKFold

    evidence = model.evidence
    x, y = torch.tensor(evidence.x), evidence.y
    folds = min(folds, int(np.bincount(y)[np.unique(y)].min()))
    if folds < 2:
        folds = 2  # a class of one example: its fold has none of it to learn from
    probabilities = np.zeros((len(y), evidence.classes))
    splits = StratifiedKFold(folds, shuffle=True, random_state=model.source.seed).split(evidence.x, y)
    for number, (rows, held) in enumerate(splits):
        weights = np.zeros(len(y), dtype=np.float32)
        weights[rows] = 1
        fitted = model.refitted(y, weights, options.stage(number, folds))
        with torch.no_grad():
            probabilities[held] = torch.cat([fitted(chunk.to(model.device)).softmax(-1).cpu() for chunk in
                                             x[held].split(512)]).numpy()
    return probabilities


def confident_learning(labels: np.ndarray, probabilities: np.ndarray, classes: int) -> np.ndarray:
    """Suspicion (n,): examples off the diagonal of the confident joint first, then all by low self-confidence.

    labels (n,), probabilities (n, C) out of sample (Northcutt et al. 2021, by the package cleanlab).
    """
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    present = np.unique(labels)  # cleanlab wants every class among the labels
    index = np.searchsorted(present, labels)
    p = probabilities[:, present]
    p = p / p.sum(1, keepdims=True)
    doubt = 1.0 - get_label_quality_scores(index, p, method="self_confidence")
    issues = find_label_issues(index, p, filter_by="confident_learning", n_jobs=1)
    return issues + doubt
