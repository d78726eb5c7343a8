"""Files of examples outside the training data, stored by content: HOME/uploads/new-DIGEST with its suffix."""

from __future__ import annotations

import hashlib
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from engine.basics.errors import InvalidInput
from engine.basics.own_files import OwnFiles, Stored
from engine.basics.sizes import spell_bytes
from engine.data import uploads
from engine.data.dataset import Dataset
from engine.data.new_examples import NewExamples, load_new, surveyed
from engine.data.pixels import Survey

FILES = OwnFiles("uploads", r"new-[0-9a-f]{16}\.(npz|zip|parquet|arrow|csv|tsv|jsonl)", "a file of new candidates",
                 "upload the file again", hashed=True)
SUFFIXES = tuple(suffix for suffix in uploads.TITLES if suffix != uploads.ROWS)
content, delete, has = FILES.content, FILES.delete, FILES.has


def keep(file: BinaryIO, filename: str, dataset: Dataset) -> str:
    """Check an uploaded file against the data that a model was trained on, store it, and return its name.

    Raises `InvalidInput` for another kind of file, one that is too large, and as `load_new` does; nothing is stored
    then.
    """
    suffix = uploads.ALIASES.get(ending := Path(filename).suffix.lower(), ending)
    if suffix not in SUFFIXES:
        raise InvalidInput(f"`{filename[:80]}` is not one of {', '.join(SUFFIXES)}; give the new candidates "
                           "in the format of the training data.")
    given = file.read(uploads.MOST_BYTES + 1)
    if len(given) > uploads.MOST_BYTES:
        raise InvalidInput(f"`{filename[:80]}` is larger than {uploads.MOST_BYTES // 1_000_000} MB; give a smaller "
                           "file.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{Path(filename).stem[-100:]}{suffix}"
        path.write_bytes(given)
        of_file(path, dataset)
    name = f"new-{hashlib.sha256(given).hexdigest()[:16]}{suffix}"
    FILES.keep(name, given)
    return name


def stored(name: str, dataset: Dataset) -> NewExamples:
    """The examples of a stored file, for a model that was trained on a dataset; those of the last ones are cached.

    Raises `MissingData` where the file is not there, and as `load_new` does.
    """
    return _stored(FILES.require(name), content(name), dataset)


def entries() -> list[Stored]:
    """All stored files of the current user."""
    return [Stored(name, "Candidates outside the training data", f"{Path(name).suffix[1:]} · {spell_bytes(size)}",
                   written) for name, written, size in FILES.all()]


def of_file(path: Path, dataset: Dataset) -> NewExamples:
    """`load_new` of a file or folder for a dataset of any kind, read as the dataset was."""
    if not uploads.is_upload(dataset.name):
        return load_new(path, dataset, None)
    reading = uploads.reading(dataset.name)
    return load_new(path, dataset, uploads.base(dataset.name), reading.label, reading.turns, reading.mark)


def survey_of(dataset: Dataset) -> Survey | None:
    """What the pictures of uploaded data share; None of other data."""
    return _surveyed(uploads.base(dataset.name)) if uploads.is_upload(dataset.name) else None


@lru_cache(maxsize=4)
def _surveyed(path: Path) -> Survey | None:
    """Of a stored file, which is named by its content; a page asks for it at every change."""
    return surveyed(path)


@lru_cache(maxsize=4)
def _stored(path: Path, digest: str, dataset: Dataset) -> NewExamples:
    return of_file(path, dataset)
