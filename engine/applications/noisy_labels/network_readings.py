"""What networks say of the examples, for methods that estimate no influence."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch

from engine.applications.noisy_labels.confident import Learner, out_of_sample
from engine.applications.noisy_labels.detectors.readings import Readings
from engine.applications.noisy_labels.source import TrainedModel
from engine.basics.options import Options


class HeldOutNetworks(Readings):
    """Of networks that are trained on folds alone."""

    def __init__(self, learner: Learner, options: Options) -> None:
        self.learner, self.options = learner, options
        self.labels, self.seed = learner.evidence.y, learner.source.seed

    @cached_property
    def probabilities(self) -> np.ndarray:
        return out_of_sample(self.learner, self.options)

    def refitted(self, weights: np.ndarray) -> np.ndarray:
        return out_of_sample(self.learner, self.options, weights)

    @property
    def inputs(self) -> np.ndarray:
        return self.learner.evidence.x.reshape(len(self.labels), -1)


class NetworkReadings(HeldOutNetworks):
    """Of a trained model too, whose references are its trusted examples."""

    def __init__(self, model: TrainedModel, options: Options) -> None:
        super().__init__(Learner(model.evidence, model.build, model.source, model.device), options)
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
