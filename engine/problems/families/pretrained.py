"""The examples of a dataset as features of models that were trained on other data: pictures and texts."""

from __future__ import annotations

import hashlib

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.data import Dataset, originals, uploads
from engine.data.dataset import SPLITS
from engine.models.pretrained.pictures import SIDE, features_by_key, picture_features
from engine.models.pretrained.texts import text_features


def reads_pretrained(dataset: Dataset) -> bool:
    """Whether a dataset holds pictures or texts that a pretrained model reads."""
    return dataset.image_shape is not None or dataset.texts is not None


def pretrained_features(dataset: Dataset, split: str, rows: np.ndarray, options: Options | None = None) -> np.ndarray:
    """(b, F) float32 of the examples `rows` (b,) of a split: of pictures those of EfficientNet-Lite0 (F = 1280), of
    uploaded ones read from their files at the size that it takes; of a table the columns as they are read, and 256
    numbers of WordLlama for their texts.

    Raises `InvalidInput` for a dataset without pictures and texts.
    """
    if dataset.image_shape is not None:
        if uploads.is_upload(dataset.name) and uploads.holds_pictures(dataset.name):
            return _of_files(dataset, split, rows, options)
        return picture_features(dataset.pictures(split, rows), options)
    if dataset.texts is None:
        raise InvalidInput(f"{dataset.title} holds neither images nor texts, which the model `pretrained` reads; use "
                           "`logistic`.")
    texts = dataset.texts[SPLITS.index(split)]
    return np.concatenate([dataset.features(split, rows).astype(np.float32),
                           text_features([texts[row] for row in rows], options)], 1)


def _of_files(dataset: Dataset, split: str, rows: np.ndarray, options: Options | None) -> np.ndarray:
    """Of pictures of an uploaded zip, whose name is the digest of its content."""
    path, color = uploads.base(dataset.name), "grayscale" if len(dataset.image_shape or ()) == 2 else "rgb"
    of_split = (dataset.files, dataset.test_files)[SPLITS.index(split)]
    files, every = [of_split[row] for row in rows], (*dataset.files, *dataset.test_files)
    keys = [hashlib.sha256(f"{path.name} {color} {SIDE} {file}".encode()).digest() for file in files]
    return features_by_key(keys, lambda positions: originals.pictures(path, every, [files[at] for at in positions],
                                                                      color, SIDE), options)
