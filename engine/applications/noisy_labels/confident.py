"""A shuffled order, and what models say of examples that they were not trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.options import Options
from engine.models.training import train

FOLDS = 3


@dataclass(frozen=True, eq=False)
class Learner:
    """What is trained on parts of the evidence. build: () -> a model with fresh weights."""

    evidence: Evidence
    build: Callable
    source: NoisySource
    device: str = "cpu"


def shuffled(source: NoisySource, count: int) -> np.ndarray:
    """A suspicion (n,) that says nothing, drawn once for a source."""
    return np.random.default_rng([source.mask, source.seed, 5]).permutation(count).astype(np.float64)


def out_of_sample(learner: Learner, options: Options, weights: np.ndarray | None = None, folds: int = FOLDS
                  ) -> np.ndarray:
    """p(x_k) (n, C) by models that were trained without z_k, one a stratified fold.

    weights: of the examples in these trainings, (n,); default: one each.
    """
    from sklearn.model_selection import StratifiedKFold

    evidence, recipe = learner.evidence, learner.source.recipe.model_copy(update={"checkpoints": 0})
    x, y, device, seed = torch.tensor(evidence.x), torch.tensor(evidence.y), learner.device, learner.source.seed
    folds = min(folds, int(np.bincount(evidence.y)[np.unique(evidence.y)].min()))
    if folds < 2:
        folds = 2  # a class of one example: its fold has none of it to learn from
    probabilities = np.zeros((len(y), evidence.classes))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(evidence.x, evidence.y)
    for number, (rows, held) in enumerate(splits):
        rest = torch.zeros(len(y))
        rest[rows] = 1 if weights is None else torch.tensor(weights[rows], dtype=rest.dtype)
        fitted = train(learner.build, x, y, recipe, seed, weights=rest, device=device, check=options.check)
        with torch.no_grad():
            probabilities[held] = torch.cat([fitted.module(chunk.to(device)).softmax(-1).cpu() for chunk in
                                             x[held].split(512)]).numpy()
        options.progress((number + 1) / folds)
    return probabilities
