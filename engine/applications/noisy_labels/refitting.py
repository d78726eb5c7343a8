"""Models that are trained from scratch on some of the examples, and what they say of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.learners import Learner, TrainingTask
from engine.basics.options import Options
from engine.models.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Refitting:
    """The model of a source, on evidence whose inputs are as the model reads them.

    build () -> a model with fresh weights. fold_of (n,): the fold of each example, in 0..F−1.
    """

    evidence: Evidence
    build: Callable
    recipe: Recipe
    learner: Learner
    seed: int
    fold_of: np.ndarray
    device: str

    def fit(self, weights: np.ndarray, options: Options) -> nn.Module:
        """The model trained on the labels with weights (n,)."""
        task = TrainingTask(self.evidence.x, self.evidence.y, self.evidence.classes, self.build, self.recipe, self.seed,
                            weights.astype(np.float32))
        return self.learner.fit(task, self.device, options).module

    def left_out(self, fold: int, options: Options, weights: np.ndarray | None = None) -> np.ndarray:
        """p (h, C) of the examples of a fold by the model that is trained without them. weights (n,): of the examples
        in that training, by default one each."""
        held = self.fold_of == fold
        module = self.fit(np.where(held, 0, 1 if weights is None else weights), options)
        with torch.no_grad():
            logits = torch.cat([module(batch.to(self.device)).cpu() for batch in
                                torch.tensor(self.evidence.x[held]).split(512)])
        return logits.double().softmax(-1).numpy()

    def out_of_fold(self, options: Options, weights: np.ndarray | None = None) -> np.ndarray:
        """p(x_k) (n, C) by the model that is trained without the fold of z_k; weights as in `left_out`."""
        p, folds = np.zeros((len(self.fold_of), self.evidence.classes)), np.unique(self.fold_of)
        for number, fold in enumerate(folds):
            p[self.fold_of == fold] = self.left_out(fold, options.stage(number, len(folds)), weights)
        return p
