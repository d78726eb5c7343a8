"""Features as models take them: pixels averaged over squares, pictures with their channels first."""

from __future__ import annotations

import math

import numpy as np

from engine import data
from engine.basics.errors import InvalidInput
from engine.data import Dataset
from engine.models.catalogue import OWNED
from engine.problems.families.fields import SourceFields


def pooled(source: SourceFields, dataset: Dataset, x: np.ndarray) -> np.ndarray:
    """Features (n, d) of a dataset's examples, averaged as the source says."""
    return x if source.pool == 1 else average_pool(x, dataset.image_shape, source.pool)


def input_shape(model: str, dataset: data.Dataset, pool: int) -> tuple[int, ...]:
    """The shape of one input to a network: what a model of a user's own declares, else (channels, height, width) of a
    picture or (features,). Raises `InvalidInput` where examples do not have the declared shape."""
    shape = _shape_of(dataset, pool)
    declared = OWNED[model].shape if model in OWNED else ()
    scrambled = len(declared) == len(shape) == 3 and shape[0] > 1 and declared not in (shape, _colours_last(shape))
    if declared and (math.prod(declared) != math.prod(shape) or scrambled):
        raise InvalidInput(f"`{model}` takes inputs of shape {declared}, and the examples of `{dataset.name}` have "
                           f"{shape}; choose data that fit, or another model.")
    return declared or shape


def shapes(dataset: data.Dataset) -> list[tuple[int, ...]]:
    """The shapes that one input may have, the usual one first: of pictures (channels, height, width), else flat, which
    comes second for pictures; last that of examples of several dimensions."""
    usual, flat = _shape_of(dataset, 1), (dataset.n_features,)
    return list(dict.fromkeys([usual, flat] if len(usual) > 1 else [flat, dataset.shape or flat]))


def _shape_of(dataset: data.Dataset, pool: int) -> tuple[int, ...]:
    if dataset.image_shape is None:
        return (dataset.n_features,)
    h, w, *colours = dataset.image_shape
    return (colours[0] if colours else 1, h // pool, w // pool)


def colours_stay(dataset: data.Dataset) -> bool:
    """Whether flat inputs of its examples are in the order in which a dataset holds them, colours last."""
    return dataset.image_shape is None or len(dataset.image_shape) < 3 or dataset.shape == dataset.image_shape


def _colours_last(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[1:], shape[0])


def as_inputs(model: str, dataset: data.Dataset, pool: int, x: np.ndarray) -> np.ndarray:
    """Flat features (n, d) of a dataset's examples, after `pooled`, as float32 inputs (n, *input_shape); pictures,
    whose colours stand last, with channels first unless the model declares them last, or takes flat inputs of arrays
    that had them last."""
    own, taken, x = _shape_of(dataset, pool), input_shape(model, dataset, pool), x.astype(np.float32)
    last = len(own) < 3 or (colours_stay(dataset) if len(taken) == 1 else taken == _colours_last(own) != own)
    return (x if last else channels_first(x, own)).reshape(len(x), *taken)


def channels_first(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Flat pictures with colours last as inputs (n, *shape)."""
    channels, h, w = shape
    return np.ascontiguousarray(x.reshape(len(x), h, w, channels).transpose(0, 3, 1, 2))


def average_pool(x: np.ndarray, image_shape: tuple[int, ...] | None, pool: int) -> np.ndarray:
    """Means over pool × pool squares of pixels: (n, h·w) → (n, (h/pool)·(w/pool)), colours kept apart.

    Raises `InvalidInput` where examples are not pictures or the sides do not divide.
    """
    if image_shape is None or image_shape[0] % pool or image_shape[1] % pool:
        raise InvalidInput(f"pool={pool} does not divide the images' sides {image_shape}; use a divisor, or 1.")
    h, w, *colour = image_shape
    squares = x.reshape(len(x), h // pool, pool, w // pool, pool, *colour)
    return squares.mean(axis=(2, 4)).reshape(len(x), -1)
