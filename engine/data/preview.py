"""What was understood of a user's own data: classes with counts and sizes, colour, and what was skipped and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.data import originals, uploads
from engine.data.dataset import Dataset
from engine.data.splits import queried
from engine.data.tables import read_table


@dataclass(frozen=True)
class ClassSeen:
    """A class as the files have it: how many are searched and how many are test examples, the smallest and largest
    picture (width, height) or None, and the file of its first training example."""

    name: str
    train: int
    test: int
    smallest: tuple[int, int] | None
    largest: tuple[int, int] | None
    example: str


@dataclass(frozen=True)
class Preview:
    """classes: of the data before any of them is renamed. colour: how it is read, in words. left_out: (file, why).
    said: what was decided without the user, in sentences. columns: of a table, those that may hold the labels.
    splits: (split, examples) of those that may be the verified queries."""

    classes: tuple[ClassSeen, ...]
    colour: str
    left_out: tuple[tuple[str, str], ...]
    said: tuple[str, ...]
    columns: tuple[str, ...] = ()
    splits: tuple[tuple[str, int], ...] = ()

    @property
    def sentence(self) -> str:
        """The counts in one sentence."""
        train, test = sum(one.train for one in self.classes), sum(one.test for one in self.classes)
        tested = f" and {test:,} test examples" if test else ""
        count = len(self.left_out)
        left = f"; {count:,} {'file was' if count == 1 else 'files were'} not read" if count else ""
        classes = f"{len(self.classes)} {'class' if len(self.classes) == 1 else 'classes'}"
        return f"{classes} with {train:,} training examples{tested}, {self.colour}{left}."


def preview(name: str) -> Preview:
    """The preview of an upload, or of the one that a reading is of. Raises `MissingData` where it is not there."""
    chosen, path = uploads.reading(name), uploads.base(name)
    whole = uploads.read(chosen.model_copy(update={"classes": {}, "trusted": {}, "queries": ""}), name)
    dataset = whole if not chosen.queries else queried(whole, chosen.queries)
    sizes = originals.sizes(path, (*dataset.files, *dataset.test_files)) if uploads.holds_pictures(name) else {}
    return Preview(tuple(_class(dataset, label, sizes) for label in range(dataset.n_classes)), _colour(dataset),
                   dataset.left_out, dataset.said, _columns(path, chosen.labels[0]),
                   tuple(sorted(Counter(whole.test_splits).items())))


def _columns(path: Path, label: str) -> tuple[str, ...]:
    return tuple(read_table(path, label=label).frame.columns) if path.suffix in uploads.TABLES else ()


def _class(dataset: Dataset, label: int, sizes: dict[str, tuple[int, int]]) -> ClassSeen:
    rows = np.flatnonzero(dataset.y_train == label)
    seen = sorted((sizes[dataset.files[row]] for row in rows if dataset.files and dataset.files[row] in sizes),
                  key=lambda size: size[0] * size[1])
    test = 0 if dataset.test_from_train else int((dataset.y_test == label).sum())
    held_out = int((dataset.y_test == label).sum()) if dataset.test_from_train else 0
    return ClassSeen(dataset.class_names[label], len(rows) + held_out, test, seen[0] if seen else None,
                     seen[-1] if seen else None, dataset.files[rows[0]] if dataset.files else "")


def _colour(dataset: Dataset) -> str:
    if dataset.image_shape is None:
        return "texts" if dataset.records else f"{dataset.n_features:,} numbers each"
    kind = "in colour" if len(dataset.image_shape) == 3 else "in grey"
    return f"read {kind} at {dataset.image_shape[1]} × {dataset.image_shape[0]} pixels"
