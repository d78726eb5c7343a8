"""How large a trusted set and a training set some data allow."""

from __future__ import annotations

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data import Dataset


def size(name: str, wanted: int | None, available: int, of_what: str) -> int:
    """How many examples are taken, all where nothing is said. Raises `InvalidInput` for more than there are."""
    if available == 0:
        raise InvalidInput(f"There are no {of_what}; take fewer trusted examples of every class.")
    if wanted is not None and wanted > available:
        raise InvalidInput(f"`{name}` is {wanted:,}, but there are only {available:,} {of_what}; use fewer.")
    return available if wanted is None else wanted


def most_trusted(dataset: Dataset, own: bool) -> int:
    """Trusted examples of every class at most: half of the scarcest class of the split that is verified.

    own: whether these are a user's own data, whose test split is verified and whose training labels are in doubt.
    """
    verified = dataset.y_test if own else dataset.y_train
    return max(1, int(np.bincount(verified, minlength=dataset.n_classes).min()) // 2)


def most_searched(dataset: Dataset, own: bool, trusted: int) -> int:
    """Training labels that can be searched beside so many trusted examples of every class."""
    return len(dataset.y_train) - (0 if own else dataset.n_classes * trusted)


def most_in_turn(dataset: Dataset) -> int:
    """Labels that can be searched where none is trusted: those of a drawn test split, too, but for lone ones."""
    counts = _counts(dataset)
    return int(counts[counts > 1].sum())


def _counts(dataset: Dataset) -> np.ndarray:
    """How many labels of each class can be in doubt, (C,)."""
    labels = np.concatenate([dataset.y_train, dataset.y_test]) if dataset.test_from_train else dataset.y_train
    return np.bincount(labels, minlength=dataset.n_classes)


def goes_in_turn(dataset: Dataset) -> bool:
    """Whether a user's own data have too few verified examples to trust one of every class and to measure with
    another, so that each part of all labels is held out in turn."""
    return dataset.test_from_train or int(np.bincount(dataset.y_test, minlength=dataset.n_classes).min()) < 2


def most_folds(dataset: Dataset, most: int = 4) -> int:
    """Into how many parts all labels can be held out in turn, 2 to `most`, so that each part has every class of two or
    more examples."""
    counts = _counts(dataset)
    return min(most, int(counts[counts > 1].min(initial=most)))


def most_tested(dataset: Dataset, own: bool, trusted: int) -> int:
    """Test examples that are left to measure accuracy, at least one."""
    return max(1, len(dataset.y_test) - (dataset.n_classes * trusted if own else 0))
