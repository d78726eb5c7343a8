r"""What the regression that judges a search (`learners`) says of examples that are rows of features.

The path is that of the same model trained by stochastic gradient descent.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import torch
from torch import nn

from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.folds import fold_of
from engine.applications.noisy_labels.learners import REGRESSIONS, standardised
from engine.applications.noisy_labels.network_readings import HeldOutModels
from engine.applications.noisy_labels.refitting import Refitting
from engine.basics.options import Options
from engine.models.catalogue import LOGISTIC
from engine.models.recipe import Recipe
from engine.models.regression import choose_penalty
from engine.models.training import train

FOLDS = 5
TOLERANCE = 1e-4
"""That of the published comparison."""
RECIPE = Recipe(epochs=10, batch_size=64, learning_rate=0.01, momentum=0.9, weight_decay=1e-3, schedule="cosine",
                checkpoints=10)


class FeatureReadings(HeldOutModels):
    """Of features (n, d) with labels (n,) in 0..classes−1. one_spread: as `standardised` has it."""

    def __init__(self, features: np.ndarray, labels: np.ndarray, classes: int, seed: int = 0,
                 one_spread: bool = False, options: Options | None = None) -> None:
        options, x = options or Options(), standardised(features, features, one_spread)
        recipe = RECIPE.model_copy(update={"weight_decay": choose_penalty(x, labels, seed, options.check, TOLERANCE)})
        super().__init__(Refitting(Evidence(x, labels, x, labels, classes), partial(nn.Linear, x.shape[1], classes),
                                   recipe, replace(REGRESSIONS[LOGISTIC], tolerance=TOLERANCE), seed,
                                   fold_of(labels, FOLDS, seed), "cpu"), options)

    @property
    def features(self) -> np.ndarray:
        return self.inputs

    @cached_property
    def path(self) -> np.ndarray:
        x = torch.from_numpy(self.refitting.evidence.x)
        trained = train(self.refitting.build, x, torch.from_numpy(self.labels), RECIPE, self.seed)
        logits = [x @ state["weight"].T + state["bias"] for state, _ in trained.checkpoints]
        return torch.stack(logits).double().numpy()

    @property
    def references(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        folds = self.refitting.fold_of
        return [(np.flatnonzero(folds != fold), self.inputs[folds == fold], self.labels[folds == fold])
                for fold in np.unique(folds)]
