"""A user's own arrays: training and query examples with labels, checked once and then trusted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.dataset import Dataset, digest

KEYS = ("x_train", "y_train", "x_query", "y_query")
OPTIONAL = ("candidates", "flags")
SIDES = (8, 512)
"""Pixels a side of an array of pictures."""
SPELLED = 8
"""Numbers of a target that its name says."""
HUGE = 1e100  # a kernel entry sums products of two features, and has to stay finite


@dataclass(frozen=True, eq=False)
class Arrays:
    """A checked problem; build it with `from_arrays` or `load_npz`.

    x_train (n, d), x_query (m, d): finite float64; shape: that of one example before it was flattened, () where both
    differ. y_train (n,), y_query (m,): int64 in 0..C-1, each class in y_train. candidates (k,): distinct int64 rows of
    x_train, in the user's order. flags (n,): bool, the training labels that are known to be wrong, or None where nobody
    said. targets (r, …): where y_train and y_query are rows of numbers that a model is trained on, else None.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_query: np.ndarray
    y_query: np.ndarray
    candidates: np.ndarray
    flags: np.ndarray | None = None
    shape: tuple[int, ...] = ()
    targets: np.ndarray | None = None

    @property
    def n_outputs(self) -> int:
        """As that of a `Dataset`."""
        return self.n_classes if self.targets is None else max(1, self.targets[0].size)

    @property
    def n_classes(self) -> int:
        return int(self.y_train.max()) + 1

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the five arrays."""
        return digest(self.x_train, self.y_train, self.x_query, self.y_query, self.candidates)

    def dataset(self, name: str = "arrays", title: str = "Your arrays") -> Dataset:
        """The same as a Dataset whose test split is the queries; draws keep to its candidates. Examples of the shape
        (h, w), (h, w, c) or (c, h, w) with one or three colours are pictures there, with their colours last."""
        pictures = _pictures(self)
        return Dataset(
            name=name, title=title, y_train=self.y_train, y_test=self.y_query, **pictures,
            class_names=tuple(map(str, range(self.n_classes))) if self.targets is None else spelled(self.targets),
            targets=self.targets,
            candidates=np.sort(self.candidates), flags=self.flags,
            files=tuple(f"x_train[{row}]" for row in range(len(self.y_train))),
            test_files=tuple(f"x_query[{row}]" for row in range(len(self.y_query))),
            test_origin="queries (`x_query`)",
            note=f"{len(self.y_train):,} training examples and {len(self.y_query):,} queries with "
            f"{self.x_train.shape[1]:,} features, used as they are; the queries serve as the test split.")


def from_arrays(x_train: Any, y_train: Any, x_query: Any, y_query: Any, candidates: Any = None,
                flags: Any = None, targets: bool = False) -> Arrays:
    """Check arrays (or what NumPy turns into arrays) and copy them into an `Arrays`.

    x_train (n, d) and x_query (m, d) numbers, those of more dimensions (n, …) flattened in C order; y_train (n,) and
    y_query (m,) whole numbers; candidates (k,) rows of x_train, by default all; flags (n,) 0 or 1, training labels
    known to be wrong. targets: whether y_train (n, …) and y_query (m, …) are any numbers. Raises InvalidInput with one
    sentence for the first fault.
    """
    x_train, shape = _features("x_train", x_train)
    x_query, other = _features("x_query", x_query)
    if x_query.shape[1] != x_train.shape[1]:
        raise InvalidInput(f"`x_query` has {x_query.shape[1]:,} features but `x_train` has {x_train.shape[1]:,}; "
                           "give both the same columns.")
    table = None
    if targets:
        y_train, y_query, table = as_rows(_numbers("y_train", y_train, x_train), _numbers("y_query", y_query, x_query))
    else:
        y_train, y_query = _labels("y_train", y_train, x_train), _labels("y_query", y_query, x_query)
        _check_classes(y_train, y_query)
    if candidates is None:
        candidates = np.arange(len(x_train))
    problem = Arrays(x_train, y_train, x_query, y_query, _candidates(candidates, len(x_train)),
                     None if flags is None else _flags(flags, len(x_train)), shape if shape == other else (), table)
    for array in vars(problem).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return problem


def _pictures(arrays: Arrays) -> dict[str, Any]:
    """The features as a dataset holds them, with what shows them where they are pictures."""
    x, axis = (arrays.x_train, arrays.x_query), _colours(arrays.shape)
    if axis is None:
        return {"raw_train": x[0], "raw_test": x[1], "shape": arrays.shape}
    grid = [np.moveaxis(each.reshape(len(each), *arrays.shape), axis + 1, -1) if axis >= 0 else each for each in x]
    sides = [size for at, size in enumerate(arrays.shape) if at != axis]
    colour = (3,) if axis >= 0 and arrays.shape[axis] == 3 else ()
    ends = float(arrays.x_train.min()), float(arrays.x_train.max())
    levels = next(((0.0, high) for high in (1.0, 255.0) if ends[0] >= 0 and ends[1] <= high), (ends[0], ends[1]))
    said = "" if levels[0] == 0 else f", shown with {ends[0]:.3g} as black and {ends[1]:.3g} as white"
    return {"raw_train": grid[0].reshape(len(grid[0]), -1), "raw_test": grid[1].reshape(len(grid[1]), -1),
            "image_shape": (*sides, *colour), "shape": arrays.shape, "levels": levels,
            "said": (f"The arrays hold images of {sides[1]} × {sides[0]} pixels{said}.",)}


def _colours(shape: tuple[int, ...]) -> int | None:
    """Which axis of an example has the colours, −1 where none has; None where an example is no picture."""
    def fits(*sides: int) -> bool:
        return all(SIDES[0] <= side <= SIDES[1] for side in sides)

    if len(shape) == 2 and fits(*shape):
        return -1
    if len(shape) == 3:
        return next((axis for axis in (2, 0) if shape[axis] in (1, 3) and fits(*(
            side for at, side in enumerate(shape) if at != axis))), None)
    return None


def _flags(values: Any, n_train: int) -> np.ndarray:
    flags = np.asarray(values)
    if flags.shape != (n_train,) or flags.dtype.kind not in "biu" or not np.isin(flags, (0, 1)).all():
        raise InvalidInput(f"`flags` must be 0 or 1 for each of the {n_train:,} rows of `x_train`, 1 if the label is "
                           "known to be wrong; correct it, or leave it out.")
    return flags.astype(bool)


def _array(name: str, values: Any, ndim: int, kinds: str, kind_noun: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError):
        raise InvalidInput(f"`{name}` cannot be read as an array; give rows of equal length, on the CPU.") from None
    if array.dtype.kind == "O":
        raise InvalidInput(f"`{name}` is an array of Python objects; save it as {kind_noun}.")
    if array.ndim < ndim or array.ndim > ndim == 1:
        remedy = "give one row per example" if ndim == 2 else "give a flat list"
        raise InvalidInput(f"`{name}` has {array.ndim} dimensions instead of {ndim}{' or more' if ndim == 2 else ''}; "
                           f"{remedy}.")
    if array.size == 0:
        raise InvalidInput(f"`{name}` is empty; give at least one entry.")
    if array.dtype.kind not in kinds:
        raise InvalidInput(f"`{name}` has the type {array.dtype}; save it as {kind_noun}.")
    return array


def _features(name: str, values: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """(features (n, d), the shape of one example as it came)."""
    given = _array(name, values, 2, "biuf", "numbers").astype(np.float64, order="C")
    array = given.reshape(len(given), -1)
    fine = (np.abs(array) <= HUGE).all(axis=1)
    if not fine.all():
        row = int(np.argmin(fine))
        if np.isfinite(array[row]).all():
            raise InvalidInput(f"`{name}` has a value above {HUGE:g} in row {row:,}; rescale the features.")
        raise InvalidInput(f"`{name}` has NaN or infinity in row {row:,}; remove or fill such values.")
    return array, given.shape[1:]


def _whole(name: str, values: Any) -> np.ndarray:
    array = _array(name, values, 1, "iuf", "whole numbers")
    whole = (array == np.floor(array)) & (np.abs(array.astype(np.float64)) < 2.0**53)
    if not whole.all():
        remedy = "give row numbers of `x_train`" if name == "candidates" else "number the classes 0, 1, 2, …"
        raise InvalidInput(f"`{name}` holds {array[np.argmin(whole)]}, which is not a usable whole number; {remedy}.")
    return array.astype(np.int64)


def _labels(name: str, values: Any, features: np.ndarray) -> np.ndarray:
    labels = _whole(name, values)
    if len(labels) != len(features):
        raise InvalidInput(f"`{name}` has {len(labels):,} labels but `x{name[1:]}` has {len(features):,} rows; "
                           "give one label per row.")
    if labels.min() < 0:
        raise InvalidInput(f"`{name}` has the negative label {labels.min()}; number the classes from 0.")
    return labels


def _numbers(name: str, values: Any, features: np.ndarray) -> np.ndarray:
    """Targets, as whole numbers or in float64."""
    given = np.asarray(values)
    array = _array(name, given.reshape(len(given), -1) if given.ndim else given, 2, "biuf", "numbers")
    if len(array) != len(features):
        raise InvalidInput(f"`{name}` has {len(array):,} targets but `x{name[1:]}` has {len(features):,} rows; give "
                           "one target per row.")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(1)))
        raise InvalidInput(f"`{name}` has NaN or infinity in row {row:,}; leave that example out.")
    return given.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def as_rows(train: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets (n, …) and (m, …) as rows of a table of those that differ: (rows (n,), rows (m,), the table (r, …)).

    Raises `InvalidInput` where their shapes differ."""
    if train.shape[1:] != query.shape[1:]:
        raise InvalidInput(f"The training examples have targets of shape {train.shape[1:]}, and the queries "
                           f"{query.shape[1:]}; give both the same.")
    table, rows = np.unique(np.concatenate([train, query]), axis=0, return_inverse=True)
    rows = rows.reshape(-1).astype(np.int64)
    return rows[:len(train)], rows[len(train):], table


def spelled(targets: np.ndarray) -> tuple[str, ...]:
    """What each of the targets (r, …) is called: its first numbers."""
    flat = targets.reshape(len(targets), -1)
    more = f", … ({flat.shape[1]:,} numbers)" if flat.shape[1] > SPELLED else ""
    return tuple(", ".join(f"{value:.4g}" for value in row[:SPELLED]) + more for row in flat)


def _check_classes(y_train: np.ndarray, y_query: np.ndarray) -> None:
    classes = np.unique(y_train)
    if len(classes) < 2:
        raise InvalidInput(f"All of `y_train` is of class {classes[0]}; give training examples of two or more classes.")
    if classes[-1] != len(classes) - 1:
        gap = int(np.argmax(classes != np.arange(len(classes))))
        raise InvalidInput(f"The label {gap} never occurs in `y_train`, whose largest is {classes[-1]}; "
                           "number the classes 0, 1, 2, … without gaps.")
    if y_query.max() > classes[-1]:
        raise InvalidInput(f"`y_query` has the label {y_query.max()}, but `y_train` has only 0 to {classes[-1]}; "
                           "query classes that occur in training.")


def _candidates(values: Any, n_train: int) -> np.ndarray:
    rows = _whole("candidates", values)
    outside = (rows < 0) | (rows >= n_train)
    if outside.any():
        raise InvalidInput(f"The candidate {rows[np.argmax(outside)]} is not a row of `x_train`; "
                           f"use rows from 0 to {n_train - 1:,}.")
    distinct, counts = np.unique(rows, return_counts=True)
    if len(rows) == n_train and len(distinct) < len(rows) and set(distinct) <= {0, 1}:
        raise InvalidInput("`candidates` is a mask of 0 and 1; give the rows that it marks, as `np.flatnonzero(mask)`.")
    if len(distinct) < len(rows):
        raise InvalidInput(f"The candidate {distinct[np.argmax(counts > 1)]} is named more than once; "
                           "name each row once.")
    return rows
