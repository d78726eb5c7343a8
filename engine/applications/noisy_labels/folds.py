"""The folds of a training set that are held out in turn, stratified by observed label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.basics.errors import InvalidInput

FOLD = "fold "

def fold_of(y: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The fold (n,) in 0..folds−1 of every example with label y (n,), stratified, fixed by `seed`. Classes of fewer
    than `folds` examples are one stratum with the largest class."""
    from sklearn.model_selection import StratifiedKFold

    counts = np.bincount(y)
    strata = np.where(counts[y] < folds, counts.argmax(), y)
    folds_of_rows = np.empty(len(y), dtype=np.int64)
    for fold, (_, held) in enumerate(StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32).split(y, strata)):
        folds_of_rows[held] = fold
    return folds_of_rows


def check_folds(y: np.ndarray, folds: int, class_names: Sequence[str]) -> None:
    """Raise `InvalidInput` where a class has too few examples for each fold to hold one."""
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < folds:
        scarce = class_names[labels[counts.argmin()]]
        raise InvalidInput(f"The class `{scarce}` has {counts.min():,} examples to search, fewer than the {folds} "
                           "folds; use fewer `folds`, or merge or exclude the class.")


def fold_chunks(folds: int) -> list[str]:
    """The chunks of so many folds, whose names a reader sees: counted from 1."""
    return [f"{FOLD}{fold + 1}" for fold in range(folds)]


def fold_named(chunk: str) -> int:
    """Which fold a chunk is of, counted from 0."""
    return int(chunk.removeprefix(FOLD)) - 1
