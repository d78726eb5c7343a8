"""Small sources whose models train in a second."""

from functools import cache

import numpy as np
from torch import nn

from engine.applications.noisy_labels.pairs import MEAN
from engine.applications.noisy_labels.source import NoisyData, NoisySource, TrainedModel
from engine.models.catalogue import MODELS
from engine.models.recipe import Recipe
from engine.scoring.pooled import aggregated

RECIPE = Recipe(epochs=4, batch_size=32, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                checkpoints=2)


class TinyResidual(nn.Module):
    """A stem and one residual block with BatchNorm, as the networks of the study have it."""

    def __init__(self, shape, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(shape[0], 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(inplace=True),
                                   nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6))
        self.relu = nn.ReLU(inplace=True)
        self.body = nn.Identity()
        self.head = nn.Linear(6, classes)

    def forward(self, x):
        h = self.stem(x)
        return self.head(self.relu(h + self.block(h)).mean((2, 3)))


MODELS.add("tiny_residual", TinyResidual, replace=True)


def source(**changes) -> NoisySource:
    return NoisySource(**{"dataset": "digits", "n_train": 150, "n_test": 100, "trusted": 4, "model": "cnn",
                          "recipe": RECIPE, **changes})


@cache
def drawn(**changes) -> NoisyData:
    return source(**changes).draw()


@cache
def model(**changes) -> TrainedModel:
    return drawn(**changes).train()


def suspicion(model, scoring, over=MEAN, options=None):
    """Suspicion (n,) by any scoring: minus its oriented scores, put together over the trusted examples.

    A trajectory visits the checkpoints of the run with the parameters that scores read; all else stays as at the end.
    """
    problem = model.problem.with_candidates(np.arange(model.problem.n))
    if model.checkpoints:
        problem.keep_checkpoints(model.checkpoints)
    return -aggregated(problem, [scoring], over.aggregate(model.evidence), options)[0]
