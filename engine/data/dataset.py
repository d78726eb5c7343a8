"""A labelled dataset with a train and a test split, held as small as its source and converted on demand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.records import Record
from engine.data.records import fingerprint as records_fingerprint

SPLITS = ("train", "test")


def digest(*arrays: np.ndarray) -> str:
    """The sha256 of the arrays' types, shapes and values, in order; independent of memory layout."""
    total = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(array.data if array.size else b"")
    return total.hexdigest()


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset in two splits; its arrays are read-only, because one copy is shared by everyone who loads it.

    raw_train (n, d), raw_test (m, d): features as stored, uint8 for images; a feature is raw / scale.
    y_train (n,), y_test (m,): int64 labels in 0..C-1, where C = len(class_names).
    image_shape: (h, w) or (h, w, 3) of one example, or None where examples are not pictures. levels: the raw values
    that are shown as black and white, by default 0 and the scale.
    candidates: the training examples that the source offers as candidates, or None for all of them.
    note: one sentence on scale, licence and what was skipped. left_out: (file, why) of what was not read. said: what
    the reader of a user's own data decided by itself, in sentences.
    test_from_train: whether the test split was sampled from the training examples, as the source has none of its own.
    files, test_files: the path of every training and test example in a source of files, else empty.
    test_origin: whence a source has its test split, in a few words; empty where that is not known or `test_from_train`.
    test_splits: `val` or `test` of every test example in a source that has such splits, else empty.
    flags, test_flags: (n,), (m,) bool, which labels are known to be wrong, or None where nobody said; no model or score
    sees them.
    records: the texts of both splits where examples are records of a language model; their features are row numbers,
    and their labels are the answers that they state.
    texts: what the text columns of a table say, one text an example of both splits; None where it has no such column.
    shape: of one example in its source, where this says it; else ().
    targets: (r, …) where a model is trained on numbers by a loss of the user's own, else None: labels are rows of
    them, and the names of classes are their texts.
    behind: the name of a stored file whose examples stand behind the training examples, which no model trains on.
    """

    name: str
    title: str
    raw_train: np.ndarray
    y_train: np.ndarray
    raw_test: np.ndarray
    y_test: np.ndarray
    class_names: tuple[str, ...]
    image_shape: tuple[int, ...] | None = None
    scale: float = 1.0
    note: str = ""
    candidates: np.ndarray | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    said: tuple[str, ...] = ()
    flags: np.ndarray | None = None
    test_from_train: bool = False
    files: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()
    test_flags: np.ndarray | None = None
    test_origin: str = ""
    records: tuple[tuple[Record, ...], tuple[Record, ...]] | None = None
    levels: tuple[float, float] | None = None
    test_splits: tuple[str, ...] = ()
    texts: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    behind: str = ""
    shape: tuple[int, ...] = ()
    targets: np.ndarray | None = None

    def __post_init__(self) -> None:
        for split in SPLITS:
            if len(self._raw(split)) != len(self.labels(split)):
                raise InvalidInput(f"The {split} split has {len(self._raw(split)):,} examples but "
                                   f"{len(self.labels(split)):,} labels; give one label per example.")
        for array in (self.raw_train, self.y_train, self.raw_test, self.y_test, self.candidates, self.flags,
                      self.test_flags):
            if array is not None:
                array.setflags(write=False)

    @property
    def key(self) -> str:
        """One text for what a row of either split shows, as far as caches of a process need it."""
        return f"{self.name} {self.behind}"

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @property
    def n_outputs(self) -> int:
        """What a model is built for: the classes, or the numbers of one target."""
        return self.n_classes if self.targets is None else max(1, self.targets[0].size)

    def check_classes(self, purpose: str) -> None:
        """Raises `InvalidInput` where examples have targets, beginning with the `purpose`."""
        if self.targets is not None:
            raise InvalidInput(f"{purpose} needs classes, and these examples have targets; choose data with classes.")

    @property
    def n_features(self) -> int:
        return self.raw_train.shape[1]

    @property
    def x_train(self) -> np.ndarray:
        """All training features (n, d), converted to float64 at each access: 8 bytes a feature."""
        return self.features("train")

    @property
    def x_test(self) -> np.ndarray:
        """All test features (m, d), converted to float64 at each access."""
        return self.features("test")

    def features(self, split: str, indices: np.ndarray | None = None) -> np.ndarray:
        """Features of a split, of the rows `indices` (k,) only if given: a new float64 array (k, d)."""
        raw = self._raw(split)
        return np.divide(raw if indices is None else raw[indices], self.scale, dtype=np.float64)

    def labels(self, split: str) -> np.ndarray:
        """Labels of a split, int64 (n,), read-only."""
        return (self.y_train, self.y_test)[_position(split)]

    def image(self, split: str, index: int) -> np.ndarray | None:
        """One example as a picture, uint8 (h, w) or (h, w, 3); None where examples are not pictures."""
        raw = self._raw(split)
        if not 0 <= index < len(raw):
            raise InvalidInput(f"There is no {split} example {index}; choose one of 0 to {len(raw) - 1:,}.")
        return None if self.image_shape is None else self.pictures(split, np.array([index]))[0]

    def pictures(self, split: str, indices: np.ndarray) -> np.ndarray:
        """The examples `indices` (b,) of a dataset of pictures, uint8 (b, h, w) or (b, h, w, 3)."""
        assert self.image_shape is not None, "of images"
        low, high = self.levels or (0.0, self.scale)
        pixels = np.rint((self._raw(split)[indices] - low) * (255.0 / (high - low)))
        return pixels.clip(0, 255).astype(np.uint8).reshape(-1, *self.image_shape)

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes, not the answers of records or rows of targets."""
        return self.records is None and self.targets is None

    @property
    def noun(self) -> str:
        """What a class of an example is called: a text has no label, but the answer that it states."""
        return "answer" if self.records is not None else "label" if self.targets is None else "target"

    def record(self, split: str, index: int) -> Record | None:
        """One example as a text; None where examples are not records."""
        return None if self.records is None else self.records[_position(split)][index]

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of all features, labels, candidates and of the scale, or of the records; computed once."""
        if self.records is not None:
            return hashlib.sha256("".join(map(records_fingerprint, self.records)).encode()).hexdigest()
        extra = [one for one in (self.candidates, self.targets) if one is not None]
        return digest(self.raw_train, self.y_train, self.raw_test, self.y_test, np.array([self.scale]), *extra)

    def _raw(self, split: str) -> np.ndarray:
        return (self.raw_train, self.raw_test)[_position(split)]


def _position(split: str) -> int:
    if split not in SPLITS:
        raise InvalidInput(f"There is no split `{split}`; choose `train` or `test`.")
    return SPLITS.index(split)
