"""The sets of labels on which methods are compared: human labels, planted noise on pictures, and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import data
from engine.basics.options import Options
from engine.data import cifar10n, corruption
from engine.data.dataset import digest

TABLES = ("wine", "breast_cancer", "generated")


@dataclass(frozen=True, eq=False)
class LabelSet:
    """features (n, d), observed labels (n,), the right ones (n,) and which observed ones are wrong (n,); classes C;
    whether they are of pictures.
    """

    features: np.ndarray
    labels: np.ndarray
    right: np.ndarray
    noisy: np.ndarray
    classes: int
    pictures: bool

    @property
    def fingerprint(self) -> str:
        return digest(self.features, self.labels, self.noisy)


def load(setting: Mapping[str, Any], seed: int, options: Options) -> LabelSet:
    """The set that a study names. setting: `data`; of human labels `human`, of planted noise `noise` and `rate`; `rows`
    of pictures, `pretrained` where they are read by pretrained features."""
    if setting["data"] in TABLES:
        features, labels = _table(setting["data"])
        return _planted(features, features, labels, setting, seed, pictures=False)
    dataset, chosen = data.load(setting["data"]), Options() if options is None else options
    rows = np.random.default_rng([0, 3]).permutation(len(dataset.y_train))[:setting["rows"]]
    pixels = dataset.features("train", rows)
    if setting["pretrained"]:
        from engine.models.pretrained.pictures import picture_features

        pictures = np.asarray(dataset.raw_train[rows]).reshape(len(rows), *(dataset.image_shape or ()))
        features = picture_features(pictures, chosen)
    else:
        features = pixels
    if "human" in setting:
        observed = cifar10n.labels(setting["human"], dataset.y_train)[rows]
        right = dataset.y_train[rows]
        return LabelSet(features, observed, right, observed != right, dataset.n_classes, pictures=True)
    return _planted(features, pixels, dataset.y_train[rows], setting, seed, pictures=True)


def _planted(features: np.ndarray, inputs: np.ndarray, labels: np.ndarray, setting: Mapping[str, Any], seed: int,
             pictures: bool) -> LabelSet:
    classes = int(labels.max()) + 1
    made = {"symmetric": lambda: corruption.symmetric_noise(labels, classes, setting["rate"], seed),
            "confusing": lambda: corruption.confusing_noise(inputs, labels, classes, setting["rate"], seed)}
    observed, flags = made[setting["noise"]]()
    return LabelSet(features, observed, labels, flags.noisy, classes, pictures)


def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, d), standardised, and labels (n,)."""
    from sklearn import datasets

    load = {"wine": lambda: datasets.load_wine(return_X_y=True),
            "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
            "generated": lambda: datasets.make_classification(
                2_000, 30, n_informative=12, n_redundant=8, n_classes=5, class_sep=1.5, random_state=0)}[name]
    columns, labels = load()
    return (columns - columns.mean(0)) / columns.std(0), labels.astype(np.int64)
