"""A user's own table: one example a row, a column with its label, and features in the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

import numpy as np

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import read_whole
from engine.data import columns
from engine.data.archive import MAX_BYTES, megabytes
from engine.data.dataset import Dataset
from engine.data.embeddings import Embeddings
from engine.data.features import Features, features, kinds_of
from engine.data.frames import read_frame
from engine.data.split_names import TRAIN, split_of

if TYPE_CHECKING:
    import pandas as pd

FRACTION = 0.25
"""The fraction that is held out as test split where the table brings none."""


@dataclass(frozen=True)
class LabelledTable:
    """A table whose labels are known. frame: its rows; label, split, named: the columns that say so, None where none
    does; said: what was decided, in sentences."""

    frame: pd.DataFrame
    label: str
    split: str | None
    named: str | None
    said: tuple[str, ...]

    @property
    def labels(self) -> list[str]:
        """The label of every row, in composed letters (NFC) and without blanks around it."""
        return [_label(value) for value in self.frame[self.label]]

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every row: that of its column, else its number. Raises `InvalidInput` for two alike."""
        if self.named is None:
            return tuple(f"row {row}" for row in range(len(self.frame)))
        names = tuple(str(value) for value in self.frame[self.named])
        if len(set(names)) < len(names):
            raise InvalidInput(f"The column `{self.named[:60]}` gives two rows the same name; give every row its own.")
        return names

    @property
    def used(self) -> list[str]:
        """The columns that are features."""
        return [one for one in self.frame.columns if one not in (self.label, self.split, self.named)]


def rows_beside(path: Path, origin: Path, trained: np.ndarray, label: str = ""
                ) -> tuple[np.ndarray, list[str], tuple[str, ...]]:
    """Features (o, d), labels and names of the rows of a table, read as those of the table `origin` are, of which the
    training rows have the features `trained` (n, d).

    Raises `InvalidInput` for another column, and where a row would change how the training rows are read.
    """
    import pandas as pd

    table = read_table(origin, label=label)
    new = read_table(path, label=table.label)
    if missing := [one for one in table.used if one not in new.frame]:
        raise InvalidInput(f"`{path.name}` has no column `{missing[0][:60]}`, which the training table has; give the "
                           "same columns.")
    labels = table.labels
    classes = tuple(sorted(set(labels)))
    train = _splits(table.frame, table.split, np.array([classes.index(one) for one in labels]), classes)[0]
    frame = pd.concat([table.frame[table.used], new.frame[table.used]], ignore_index=True)
    if len(train) != len(trained):
        raise InvalidInput("The training table was read with classes or rows other than those of its file; give new "
                           "candidates for the table as it was uploaded.")
    try:
        x = features(frame, train, kinds_of(table.frame[table.used])).x
    except (ValueError, TypeError, AssertionError):  # what pandas says of a text among numbers or dates
        x = np.empty((len(frame), 0))
    if not np.array_equal(x[train], trained):
        raise InvalidInput(f"The columns of `{path.name}` hold different kinds of values from those of the training "
                           "table; give numbers, texts and dates as it does.")
    return x[len(table.frame):], new.labels, new.names


def load_table(path: Path, *, name: str = "table", title: str = "Your table", max_bytes: int = MAX_BYTES,
               label: str = "", embeddings: Embeddings | None = None) -> Dataset:
    """A table with a column of labels (`label`, or the one that it is called by), if it likes a column `split`
    (training, validation or test) and one of `engine.data.columns.NAMES`; every other column is a feature, as
    `engine.data.features` reads it. embeddings: the features in place of these columns.

    Without `split`, a quarter is held out, stratified by label. `Dataset.said` tells what was decided. Raises
    `MissingData`, or `InvalidInput` with what to do.
    """
    table = read_table(path, max_bytes, label)
    frame = table.frame
    given = frame[table.label]
    labels = table.labels
    classes = tuple(sorted(set(labels)))
    if columns.are_measured(given, len(classes)):
        raise columns.UnclearLabels(f"The column `{table.label[:60]}` holds {len(classes):,} different numbers, not "
                                    f"classes; put them into a few groups, or {columns.OTHERWISE}.", frame)
    if len(classes) < 2:
        raise columns.UnclearLabels(f"All values of the column `{table.label[:60]}` are `{classes[0][:60]}`; give two "
                                    f"classes or more, or {columns.OTHERWISE}.", frame)
    number = {label: index for index, label in enumerate(classes)}
    y, files = np.array([number[label] for label in labels], dtype=np.int64), table.names
    train, test, origin, said = _splits(frame, table.split, y, classes)
    read, how = inputs(table, table.used, train, embeddings, max_bytes)
    x = read.x
    return Dataset(
        name=name, title=title, raw_train=x[train], y_train=y[train], raw_test=x[test], y_test=y[test],
        class_names=classes, test_from_train=not origin, files=tuple(files[row] for row in train),
        test_files=tuple(files[row] for row in test), test_origin=origin,
        test_splits=tuple(split_of(frame[table.split].iloc[row]) or "" for row in test) if origin else (),
        texts=None if read.texts is None else (tuple(read.texts[row] for row in train),
                                               tuple(read.texts[row] for row in test)),
        said=(*table.said, *said, *how),
        note=f"{len(train):,} training and {len(test):,} test rows with {x.shape[1]:,} numbers each, standardised.")


def read_table(path: Path, max_bytes: int = MAX_BYTES, label: str = "") -> LabelledTable:
    """The rows of a file that has a label in each. Raises as `load_table` does."""
    if not path.is_file():
        raise MissingData(f"There is no table `{path}`; check the path.")
    read = read_frame(read_whole(path, "table", max_bytes, f"The table is larger than {megabytes(max_bytes)}; give a "
                                                           "smaller one."), path.suffix.lower(), max_bytes=max_bytes)
    frame = read.frame
    column, how = columns.label_column(frame, label)
    if not len(frame):
        raise InvalidInput("The table has no rows below the names of its columns; give one row per example.")
    if frame[column].map(lambda value: isinstance(value, (list, dict, bytes, np.ndarray))).any() or (
            frame[column].map(lambda value: str(value).strip()[:1] + str(value).strip()[-1:] == "[]").all()):
        raise columns.UnclearLabels(f"The column `{column[:60]}` holds lists or objects, not labels; write one "
                                    f"text or number per row, or {columns.OTHERWISE}.", frame)
    if empty := int((frame[column].isna() | frame[column].map(_label).eq("")).sum()):
        words = ", or says `NA`, `None` or the like," if path.suffix.lower() in (".csv", ".tsv") else ""
        taken = f", taken as the labels ({how})," if how not in ("", columns.CHOSEN) else ""
        raise columns.UnclearLabels(f"The column `{column[:60]}`{taken} is empty{words} in {empty:,} of {len(frame):,} "
                                    f"rows; fill it in every row, leave those rows out, or {columns.OTHERWISE}.", frame)
    split = columns.find(frame, columns.SPLITS)
    if split is not None and split.casefold() != columns.SPLITS[0] and not frame[split].map(split_of).notna().all():
        split = None
    named = columns.find(frame.drop(columns=column), columns.NAMES)
    indexed = read.index if named is None and read.index not in (column, split) else None
    padded = sum(isinstance(value, str) and value != value.strip() for value in frame[column])
    blanks = f"Blanks around the labels of {padded:,} rows were removed." if padded else ""
    said = tuple(filter(None, (read.said, columns.label_sentence(column, how), blanks,
                               f"The rows are named by the index `{indexed[:60]}`." if indexed else "")))
    return LabelledTable(frame, column, split if split != column else None, named or indexed, said)


def _label(value: object) -> str:
    return normalize("NFC", str(value)).strip()


def _splits(frame: pd.DataFrame, column: str | None, y: np.ndarray, classes: tuple[str, ...]
            ) -> tuple[np.ndarray, np.ndarray, str, tuple[str, ...]]:
    """(training rows, test rows, whence the latter are, empty where they were held out, what was decided)."""
    if column is not None:
        split = np.array([split_of(value) or "" for value in frame[column]])
        if (odd := split == "").any():
            value = str(frame[column].iloc[int(odd.argmax())])[:40]
            says = "is empty in some rows" if frame[column].isna().iloc[int(odd.argmax())] else f"says `{value}`"
            raise InvalidInput(f"The column `{column[:60]}` {says}; use `train`, `val` and `test` only.")
        train, test = np.flatnonzero(split == TRAIN), np.flatnonzero(split != TRAIN)
        if missing := sorted(set(range(len(classes))) - set(y[train].tolist())):
            raise InvalidInput(f"The class `{classes[missing[0]]}` has no training row; add one, or leave it out.")
        if len(test):
            names = sorted(set(split[test]))
            counts = " and ".join(f"`{name}` ({int((split == name).sum()):,})" for name in names)
            origin = "rows with `split` = " + " or ".join(f"`{name}`" for name in names)
            return train, test, origin, (f"`train` ({len(train):,}) is searched; {counts} hold the verified queries.",)
    train, test, single = held_out(y, FRACTION, 0)
    said = (lone_sentence([classes[label] for label in single], "row"),) if len(single) else ()
    return train, test, "", said


def inputs(table: LabelledTable, used: Sequence[str], train: np.ndarray, embeddings: Embeddings | None,
           max_bytes: int) -> tuple[Features, tuple[str, ...]]:
    """What the columns `used`, or the embeddings in their place, are as numbers of all rows, and how they were read.

    Raises `InvalidInput` where they reach `max_bytes`."""
    read = features(embeddings.frame(table.names) if embeddings else table.frame[list(used)], train)
    if read.x.nbytes >= max_bytes:
        raise InvalidInput(f"The table takes {megabytes(read.x.nbytes)} in memory; the limit is "
                           f"{megabytes(max_bytes)}.")
    return read, (embeddings.sentence("other columns", "the order of the rows"),) if embeddings else read.said


def held_out(y: np.ndarray, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(training rows, test rows, classes of a single example, which stays a training example), stratified by label.

    Raises `InvalidInput` where every class has a single example.
    """
    from sklearn.model_selection import train_test_split

    counts = np.bincount(y)
    single = np.flatnonzero(counts == 1)
    rows = np.flatnonzero(counts[y] > 1)
    if not len(rows):
        raise InvalidInput("Every class has a single example; add more, so that some can be held out.")
    held = max(int((counts > 1).sum()), round(fraction * len(rows)))
    train, test = train_test_split(rows, test_size=held, stratify=y[rows], random_state=seed)
    return np.concatenate([train, np.flatnonzero(counts[y] == 1)]), test, single


def lone_sentence(classes: list[str], noun: str) -> str:
    """That some classes have a single example each."""
    named = ", ".join(f"`{name}`" for name in classes[:5]) + (", …" if len(classes) > 5 else "")
    one = len(classes) == 1
    return (f"The class{'' if one else 'es'} {named} {'has' if one else 'have'} a single "
            f"{noun}{'' if one else ' each'}: too few to verify, so none of {'it' if one else 'them'} is held out.")
