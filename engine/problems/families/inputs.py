"""Features as models take them: pixels averaged over squares, pictures with their channels first."""

from __future__ import annotations

import numpy as np

from engine import data
from engine.basics.errors import InvalidInput
from engine.data import Dataset
from engine.problems.families.fields import SourceFields


def pooled(source: SourceFields, dataset: Dataset, x: np.ndarray) -> np.ndarray:
    """Features (n, d) of a dataset's examples, averaged as the source says."""
    return x if source.pool == 1 else average_pool(x, dataset.image_shape, source.pool)


def input_shape(dataset: data.Dataset, pool: int) -> tuple[int, ...]:
    """The shape of one input to a network: (channels, height, width) of a picture, else (features,)."""
    if dataset.image_shape is None:
        return (dataset.n_features,)
    h, w, *colours = dataset.image_shape
    return (colours[0] if colours else 1, h // pool, w // pool)


def as_inputs(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Flat features (n, d), pictures with colours last, as float32 inputs (n, *shape), channels first."""
    x = x.astype(np.float32)
    return x if len(shape) == 1 else channels_first(x, shape)


def channels_first(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Flat pictures with colours last as inputs (n, *shape)."""
    channels, h, w = shape
    return np.ascontiguousarray(x.reshape(len(x), h, w, channels).transpose(0, 3, 1, 2))


def average_pool(x: np.ndarray, image_shape: tuple[int, ...] | None, pool: int) -> np.ndarray:
    """Means over pool × pool squares of pixels: (n, h·w) → (n, (h/pool)·(w/pool)), colours kept apart.

    Raises `InvalidInput` where examples are not pictures or the sides do not divide.
    """
    if image_shape is None or image_shape[0] % pool or image_shape[1] % pool:
        raise InvalidInput(f"pool={pool} does not divide the pictures' sides {image_shape}; use a divisor, or 1.")
    h, w, *colour = image_shape
    squares = x.reshape(len(x), h // pool, pool, w // pool, pool, *colour)
    return squares.mean(axis=(2, 4)).reshape(len(x), -1)
