"""Examples that a dataset does not hold, from files like those that it came from, as its features and class numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from engine.basics.errors import InvalidInput, MissingData
from engine.data.archive import FAULTS, MAX_BYTES, open_zip
from engine.data.dataset import Dataset
from engine.data.file_tree import Tree, is_hidden, of_folder, of_zip
from engine.data.frames import READERS
from engine.data.image_folder import EXTENSIONS
from engine.data.label_files import SUFFIXES, by_files
from engine.data.pixels import Survey, pixels, survey
from engine.data.record_forms import Turns
from engine.data.record_sets import answer_of, numbered
from engine.data.records import Record, read_jsonl
from engine.data.tables import rows_beside

MOST = 200_000
"""Files of a folder."""
NPZ = ("x", "y")
TARGETS = ("The training data have targets; score new examples with targets in Python, by "
           "`wf.problem(…, new_candidates=…)`.")


@dataclass(frozen=True)
class NewExamples:
    """features (o, d) float64, labels (o,) int64, and what each is called: its file, its row's name or number.

    records: their texts where the dataset holds texts; their labels are the answers that they state, behind
    `class_names` where the dataset has none of that name.
    """

    features: np.ndarray
    labels: np.ndarray
    names: tuple[str, ...]
    records: tuple[Record, ...] = ()
    class_names: tuple[str, ...] = ()

    def behind(self, dataset: Dataset, name: str) -> Dataset:
        """The dataset with these behind its training examples, to show them as those are shown. name: of the file that
        they came from."""
        raw = self.features * dataset.scale
        if dataset.raw_train.dtype.kind in "iu":
            limits = np.iinfo(dataset.raw_train.dtype)
            raw = np.rint(raw).clip(limits.min, limits.max)
        records = dataset.records and ((*dataset.records[0], *self.records), dataset.records[1])
        return replace(
            dataset, raw_train=np.concatenate([dataset.raw_train, raw.astype(dataset.raw_train.dtype)]),
            y_train=np.concatenate([dataset.y_train, self.labels]), records=records, behind=name,
            class_names=self.class_names or dataset.class_names,
            files=(*dataset.files, *self.names) if dataset.files else (),
            flags=None if dataset.flags is None else np.concatenate([dataset.flags, np.zeros(len(self.labels), bool)]))


def load_new(path: Path, dataset: Dataset, origin: Path | None, label: str = "", turns: Turns = "last",
             mark: Mapping[str, str] | None = None) -> NewExamples:
    """The examples of a folder or zip of pictures, of a table, of a JSONL of records, or of an npz with x (o, d) and
    y (o,), read as those of a dataset are. origin: the file or folder that the dataset was read from, where it was.
    label: of a table, the column with its labels. turns, mark: of records, as `read_jsonl` takes them.

    The class of a picture is the innermost folder that is named as one, or what a table of labels beside it says.
    Raises `MissingData`, or `InvalidInput` for classes that the dataset does not have, and for another kind of file.
    """
    if not path.exists():
        raise MissingData(f"There is no file or folder `{path}`; check the path.")
    if dataset.targets is not None:
        raise InvalidInput(TARGETS)
    if dataset.records is not None:
        return of_records(read_jsonl(path, turns, mark), dataset)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _of_npz(path, dataset)
    if suffix in READERS:
        if origin is None or origin.suffix.lower() not in READERS:
            raise InvalidInput(f"`{path.name}` is a table, but the training data are not; give a file or "
                               "folder in the format of the training data.")
        x, labels, names = rows_beside(path, origin, dataset.features("train"), label)
        return NewExamples(x, _numbers(labels, names, dataset), names)
    if dataset.image_shape is None:
        raise InvalidInput(f"`{path.name}` is not an npz or a table, and the training data are not images; give a "
                           "file in the format of the training data.")
    if path.is_dir():
        return _of_pictures(of_folder(path, MOST), dataset, surveyed(origin))
    with open_zip(path, "zip", MAX_BYTES) as archive:
        return _of_pictures(of_zip(archive, "zip", MOST), dataset, surveyed(origin))


def read_arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """x (o, d) float64 and y (o,) int64 of an npz. Never unpickles. Raises `InvalidInput`."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            x, y = (np.asarray(arrays[name]) for name in NPZ)
    except KeyError:
        raise InvalidInput(f"`{path.name}` holds no `x` and `y`; save the examples as x (o, d) with labels y (o,)."
                           ) from None
    except (*FAULTS, ValueError):
        raise InvalidInput(f"`{path.name}` is damaged or holds objects; save it again with numpy.savez.") from None
    if x.ndim < 2 or y.shape != x.shape[:1] or not len(y) or x.dtype.kind not in "biuf" or y.dtype.kind not in "iu":
        raise InvalidInput(f"`{path.name}` holds x {x.shape} {x.dtype} and y {y.shape} {y.dtype}; give numbers x "
                           "(o, d) and whole numbers y (o,).")
    x = x.reshape(len(x), -1).astype(np.float64)
    if not np.isfinite(x).all():
        raise InvalidInput(f"`{path.name}` has NaN or infinity in row {int(np.argmin(np.isfinite(x).all(1)))}; remove "
                           "or fill such values.")
    return x, y.astype(np.int64)


def row_names(count: int) -> tuple[str, ...]:
    """What examples without names are called."""
    return tuple(f"row {row}" for row in range(count))


def of_records(records: Sequence[Record], dataset: Dataset, named: str = "") -> NewExamples:
    """Records beside those of a dataset. named: what follows on their ids."""
    assert dataset.records is not None, "a dataset of texts"
    answers = dict.fromkeys([*dataset.class_names, *map(answer_of, records)])
    rows = len(dataset.y_train) + np.arange(len(records), dtype=np.float64)
    names = tuple(f"{record.id}{named}" for record in records)
    return NewExamples(rows[:, None], numbered(records, list(answers)), names, tuple(records), tuple(answers))


def _of_npz(path: Path, dataset: Dataset) -> NewExamples:
    x, y = read_arrays(path)
    if x.shape[1] != dataset.n_features:
        raise InvalidInput(f"`{path.name}` has {x.shape[1]:,} features per row, and the training examples have "
                           f"{dataset.n_features:,}; give the same.")
    return NewExamples(x, y, row_names(len(y)))


def surveyed(origin: Path | None) -> Survey | None:
    """What the training pictures share, where they are at hand."""
    if origin is None or not (origin.is_dir() or origin.suffix == ".zip"):
        return None
    if origin.is_dir():
        return _survey(of_folder(origin, MOST))
    with open_zip(origin, "zip", MAX_BYTES) as archive:
        return _survey(of_zip(archive, "zip", MOST))


def _survey(tree: Tree) -> Survey:
    return survey(tree.read, _pictures(tree))


def _pictures(tree: Tree) -> list[str]:
    return [file for file in tree.members if not is_hidden(file) and file.lower().endswith(EXTENSIONS)]


def _of_pictures(tree: Tree, dataset: Dataset, shared: Survey | None) -> NewExamples:
    files, shape = _pictures(tree), dataset.image_shape
    assert shape is not None, "a dataset of images"
    if not files:
        raise InvalidInput(f"There are no images in this folder or zip ({', '.join(EXTENSIONS)}).")
    if shape[0] != shape[1]:
        raise InvalidInput("The training images are not square; give the examples as an npz with x and y.")
    tables = [file for file in tree.members if not is_hidden(file) and file.lower().endswith(SUFFIXES)]
    listed = by_files(tree, tables, files, False) if tables else None
    said = {row.file: row.label for row in listed.rows} if listed else {}
    labels = [said.get(file) or _class_folder(file, dataset.class_names) for file in files]
    own, color = _survey(tree), "grayscale" if len(shape) == 2 else "rgb"
    if own.holed:
        raise InvalidInput(f"{own.holed:,} of the new images have pixels that are not finite; give every pixel a "
                           "number.")
    shared = shared or own
    read = [pixels(tree.read(file), color, shape[0], shared) for file in files]
    if unread := [file for file, picture in zip(files, read, strict=True) if picture is None]:
        raise InvalidInput(f"`{unread[0][:80]}` cannot be read as an image; replace it, or leave it out.")
    return NewExamples(np.stack(read).astype(np.float64) / 255.0,  # type: ignore[arg-type]
                       _numbers(labels, files, dataset), tuple(files))


def _class_folder(file: str, classes: Sequence[str]) -> str:
    """The innermost folder of a file that is named as a class; where none is, the one that it lies in."""
    folders = PurePosixPath(file).parts[-2::-1]
    return next((folder for folder in folders if folder in classes), folders[0] if folders else "")


def _numbers(labels: Sequence[str], names: Sequence[str], dataset: Dataset) -> np.ndarray:
    number = {name: index for index, name in enumerate(dataset.class_names)}
    for label, name in zip(labels, names, strict=True):
        if label not in number:
            known = ", ".join(f"`{one}`" for one in dataset.class_names[:10])
            raise InvalidInput(f"`{name[:80]}` has the class `{label[:60]}`, which the training data do not have; name "
                               f"its folder, or its label, as one of {known}.")
    return np.array([number[label] for label in labels], dtype=np.int64)
