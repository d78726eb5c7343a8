"""What models say of the examples, for methods that estimate no influence."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import torch

from engine.applications.noisy_labels.detectors.readings import Readings
from engine.applications.noisy_labels.refitting import Refitting
from engine.applications.noisy_labels.source import TrainedModel
from engine.basics.options import Options


class HeldOutModels(Readings):
    """Of models that are trained without a fold each. probabilities (n, C): out of fold, where they are at hand."""

    def __init__(self, refitting: Refitting, options: Options, probabilities: np.ndarray | None = None) -> None:
        self.refitting, self.options = refitting, options
        self.labels, self.seed = refitting.evidence.y, refitting.seed
        if probabilities is not None:
            self.probabilities = probabilities

    @cached_property
    def probabilities(self) -> np.ndarray:
        return self.refitting.out_of_fold(self.options)

    def refitted(self, weights: np.ndarray, penalty: float) -> np.ndarray:
        given = self.refitting.recipe
        recipe = given.model_copy(update={"weight_decay": penalty * given.weight_decay})
        return replace(self.refitting, recipe=recipe).out_of_fold(self.options, weights)

    @property
    def inputs(self) -> np.ndarray:
        return self.refitting.evidence.x.reshape(len(self.labels), -1)


class NetworkReadings(HeldOutModels):
    """Of a trained model too, whose references are its trusted examples."""

    def __init__(self, model: TrainedModel, options: Options) -> None:
        super().__init__(model.refitting, options)
        self.model = model

    @cached_property
    def path(self) -> np.ndarray:
        x = self.model.problem.x
        logits = [self.model.at(state).network.predict(x) for state, _ in self.model.checkpoints]
        if not logits:
            return np.empty((0, len(self.labels), self.model.evidence.classes))
        return torch.stack(logits).cpu().double().numpy()

    @cached_property
    def features(self) -> np.ndarray:
        return self._represented(self.model.problem.x)

    @cached_property
    def references(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        trusted = self._represented(self.model.problem.queries)
        return [(np.arange(len(self.labels)), trusted, self.model.evidence.trusted_y)]

    def _represented(self, x: torch.Tensor) -> np.ndarray:
        return self.model.problem.network.features(x).cpu().double().numpy()
