"""Datasets with other classes or another test split, made of those that a source brings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.dataset import Dataset

LONGEST = 100
UNFIT = re.compile(r"^\s*\.|[/\\\x00-\x1f:]")
"""What no name of a folder may hold on every system."""
LISTED = "list of verified examples"
LEFT_OUT = ""
"""What a class is called instead where it is left out."""


def whole(dataset: Dataset) -> Dataset:
    """All examples as training examples, the training split first; no test examples."""
    return _arranged(dataset, np.arange(len(dataset.y_train) + len(dataset.y_test)), np.arange(0),
                     test_from_train=False, test_origin="")


def mapped(dataset: Dataset, classes: Mapping[str, str]) -> Dataset:
    """The dataset with classes under other names, by old name; the same name for several merges them, and `LEFT_OUT`
    leaves one out with its examples. Classes are sorted by name; those that are not named stay.

    Raises `InvalidInput` for a class that there is not, and where fewer than two are left or one has no training
    example.
    """
    if unknown := [name for name in classes if name not in dataset.class_names]:
        raise InvalidInput(f"There is no class `{unknown[0][:60]}`; there are {', '.join(dataset.class_names[:8])}"
                           f"{', …' if dataset.n_classes > 8 else ''}.")
    if unfit := [name for name in classes.values() if len(name) > LONGEST or UNFIT.search(name)]:
        raise InvalidInput(f"`{unfit[0][:60]!r}` cannot name a class, because it becomes the name of a folder; give at "
                           f"most {LONGEST} characters, without slashes or a leading dot.")
    named = [classes.get(name, name).strip() for name in dataset.class_names]
    names = tuple(sorted({name for name in named if name != LEFT_OUT}))
    if len(names) < 2:
        raise InvalidInput(f"{len(names)} class{'' if len(names) == 1 else 'es'} would remain; keep at least two.")
    number = np.array([names.index(name) if name != LEFT_OUT else -1 for name in named], dtype=np.int64)
    train, test = number[dataset.y_train], number[dataset.y_test]
    if missing := sorted(set(range(len(names))) - set(train.tolist())):
        raise InvalidInput(f"The class `{names[missing[0]]}` has no training example; merge it or leave it out.")
    rows = np.flatnonzero(train >= 0), len(train) + np.flatnonzero(test >= 0)
    return _arranged(dataset, *rows, labels=np.concatenate([train, test]), class_names=names)


def verified(dataset: Dataset, listed: Mapping[str, str]) -> Dataset:
    """The dataset with listed examples, by file, as its test split: beside the one that it has, or instead of one
    that was held out, which goes back to the training examples.

    listed: file -> the verified class, or an empty text where the label that it came with is right. Raises
    `InvalidInput` for a file or a class that there is not, and where a class has fewer than two verified examples.
    """
    files = (*dataset.files, *dataset.test_files)
    row_of = {file: row for row, file in enumerate(files)}
    labels = np.concatenate([dataset.y_train, dataset.y_test])
    chosen = []
    for file, name in listed.items():
        if file not in row_of:
            raise InvalidInput(f"The list of verified examples names `{file[:80]}`, which is not among the data; give "
                               "paths as the preview and the CSV write them.")
        if name and name not in dataset.class_names:
            raise InvalidInput(f"The list of verified examples gives `{file[:80]}` the class `{name[:60]}`, which does "
                               "not exist; use one of the classes.")
        chosen.append(row_of[file])
        labels[row_of[file]] = dataset.class_names.index(name) if name else labels[row_of[file]]
    own_test = () if dataset.test_from_train else range(len(dataset.y_train), len(files))
    test = np.array(sorted({*chosen, *own_test}), dtype=np.int64)
    counts = np.bincount(labels[test], minlength=dataset.n_classes)
    if counts.min() < 2:
        scarce = dataset.class_names[int(counts.argmin())]
        raise InvalidInput(f"{counts.min()} of the verified examples {'is' if counts.min() == 1 else 'are'} of class "
                           f"`{scarce}`; verify at least two of every class, one for reference and one for "
                           "measurement.")
    train = np.setdiff1d(np.arange(len(files)), test)
    if gone := sorted(set(range(dataset.n_classes)) - set(labels[train].tolist())):
        raise InvalidInput(f"Every example of the class `{dataset.class_names[gone[0]]}` is in the list of verified "
                           "ones; leave some of them to search.")
    return _arranged(dataset, train, test, labels=labels, test_from_train=False, test_origin=(
        LISTED if dataset.test_from_train else f"{dataset.test_origin or 'test split'} and {LISTED}"))


def queried(dataset: Dataset, split: str) -> Dataset:
    """The dataset with the test examples of one of its own splits alone. Raises `InvalidInput` where it has none
    such."""
    if split not in dataset.test_splits:
        raise InvalidInput(f"The data have no split `{split}` besides the training examples; omit the choice of "
                           "verified queries.")
    rows = np.array([row for row, own in enumerate(dataset.test_splits) if own == split], dtype=np.int64)
    others = len(dataset.y_test) - len(rows)
    said = (f"Only the verified queries of `{split}` ({len(rows):,}) are used, as chosen; {others:,} others are left "
            "out.",)
    return _arranged(dataset, np.arange(len(dataset.y_train)), len(dataset.y_train) + rows, said=dataset.said + said,
                     test_origin=f"`{split}` split")


def _arranged(dataset: Dataset, train: np.ndarray, test: np.ndarray, labels: np.ndarray | None = None,
              class_names: Sequence[str] | None = None, **changes: Any) -> Dataset:
    """The dataset with rows of training and test split together as its splits. labels: of all rows, if other ones."""
    raw = np.concatenate([dataset.raw_train, dataset.raw_test])
    labels = np.concatenate([dataset.y_train, dataset.y_test]) if labels is None else labels
    files = (*dataset.files, *dataset.test_files)
    beside = np.zeros(len(dataset.y_test), dtype=bool) if dataset.test_flags is None else dataset.test_flags
    flags = None if dataset.flags is None else np.concatenate([dataset.flags, beside])
    texts = None if dataset.texts is None else dataset.texts[0] + dataset.texts[1]
    return replace(
        dataset, raw_train=raw[train], y_train=labels[train], raw_test=raw[test], y_test=labels[test],
        class_names=dataset.class_names if class_names is None else tuple(class_names),
        files=tuple(files[row] for row in train) if files else (),
        test_files=tuple(files[row] for row in test) if files else (),
        flags=None if flags is None else flags[train], test_flags=None if flags is None else flags[test],
        texts=None if texts is None else (tuple(texts[row] for row in train), tuple(texts[row] for row in test)),
        candidates=None, test_splits=(), **changes)
