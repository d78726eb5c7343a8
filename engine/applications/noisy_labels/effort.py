"""What training the model of a search takes on two idle cores, roughly, before anything of it is drawn."""

from __future__ import annotations

from contextlib import suppress

from engine.applications.noisy_labels.source import NoisySource
from engine.basics.errors import MissingData
from engine.data import uploads
from engine.models.catalogue import PRETRAINED

ALL = 45_000
"""Training examples where a source does not say how many."""
PACE = {"linear": 40_000, "mlp": 20_000, "cnn": 5_000, "resnet18_quarter_cifar": 600, "resnet50_quarter_cifar": 190,
        "vgg19_bn_quarter_cifar": 1_000, "mobilenet_v2_quarter_cifar": 200,
        "mobilenet_v2_stem_quarter_cifar": 200}
"""Training examples a second in float32 on two CPU cores, of 32×32 pixels for the networks of a quarter of their
width and as the small tables take them for others; what is not listed is as slow as ResNet-18."""
SLOWEST = 40
LEAST = 0.1
"""Seconds that any training takes."""
REGRESSION = 10_000
"""Training examples a second with which a regression reaches its optimum, whatever the recipe says of epochs."""

PICTURES = 40
"""Pictures a second whose pretrained features a core computes."""


def training_seconds(source: NoisySource) -> float:
    """Of one training on all of its examples, with what is read off the model."""
    n = source.n_train or ALL
    if not source.learner.passes:
        return LEAST + n / REGRESSION
    gain = 2.0 if source.recipe.precision == "mixed" else 1.0
    if "_quarter_" in source.model:
        gain *= source.pool ** 2
    return LEAST + n * source.recipe.epochs / (gain * PACE.get(source.model, SLOWEST))


def reading_seconds(source: NoisySource) -> float:
    """Of the pretrained features of its pictures, where none is stored; of pictures in arrays it is not known."""
    with suppress(MissingData):
        if source.model == PRETRAINED and (not source.is_own or uploads.holds_pictures(source.dataset)):
            return (source.n_train or ALL) / PICTURES
    return 0.0


def involves(source: NoisySource) -> tuple[str, ...]:
    """What is computed on what, from general to specific."""
    return source.model, source.dataset, source.trusted_from
