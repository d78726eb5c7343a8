"""A user's own embeddings, a row an example, stored by content: HOME/uploads/embeddings-DIGEST.npy or .npz."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.own_files import OwnFiles, Stored
from engine.basics.sizes import spell_bytes
from engine.data import columns
from engine.data.archive import FAULTS, MAX_BYTES, megabytes, open_zip
from engine.data.dataset import Dataset
from engine.data.features import LISTS, features, kinds_of
from engine.data.frames import READERS, read_frame
from engine.data.npz import entries as entries_of
from engine.data.npz import read_header

if TYPE_CHECKING:
    import pandas as pd

COLUMN, ROWS, NAMES = "embedding", "embeddings", "names"
FILES = OwnFiles("uploads", r"embeddings-[0-9a-f]{24}\.(npy|npz)", "a file of embeddings", "upload the file again",
                 hashed=True)
delete = FILES.delete


@dataclass(frozen=True)
class Embeddings:
    """rows (n, d): numbers, one row an example. names: of the examples, empty where rows stand in their order."""

    rows: np.ndarray
    names: tuple[str, ...] = ()

    def frame(self, examples: Sequence[str]) -> pd.DataFrame:
        """The rows of these examples as a table with one column of lists. Raises `InvalidInput` where one has none."""
        import pandas as pd

        if not self.names and len(self.rows) != len(examples):
            raise InvalidInput(f"There are {len(self.rows):,} embeddings for {len(examples):,} examples; give one "
                               f"row per example in their order, or an npz that also has their `{NAMES}`.")
        row_of = {name: row for row, name in enumerate(self.names or examples)}
        if missing := [name for name in examples if name not in row_of]:
            raise InvalidInput(f"`{missing[0][:80]}` has no embedding; `{NAMES}` has to contain every example, named "
                               "as in the preview and the CSV.")
        return pd.DataFrame({COLUMN: list(self.rows[[row_of[name] for name in examples]])})

    def of_pictures(self, dataset: Dataset) -> Dataset:
        """The dataset with embeddings, standardised, instead of pixels; without names they go by sorted paths.
        Raises as `frame` and `features` do."""
        files = (*dataset.files, *dataset.test_files)
        order = np.argsort(np.argsort(np.array(files)))
        frame = self.frame(sorted(files)).iloc[order].reset_index(drop=True)
        n = len(dataset.files)
        read = features(frame, np.arange(n))
        order_of_rows = f"sorted paths, from `{min(files)}` to `{max(files)}`"
        return replace(dataset, raw_train=read.x[:n], raw_test=read.x[n:], image_shape=None, scale=1.0,
                       said=(*dataset.said, self.sentence("pixels", order_of_rows)))

    def sentence(self, instead: str, order: str) -> str:
        """What the model reads. instead: what it does not read; order: of the rows, where they have no names."""
        return (f"The model reads your embeddings, {self.rows.shape[1]:,} numbers each, standardised, instead of the "
                f"{instead}; they are matched to the examples by {'name' if self.names else order}.")


def read(name: str) -> Embeddings | None:
    """Stored embeddings by their name; None for the empty one. Raises `MissingData` where they are not there."""
    return read_file(FILES.require(name)) if name else None


def read_file(path: Path) -> Embeddings:
    """Embeddings of an npy, an array (n, d), or of an npz with `embeddings` (n, d) and, if it likes, `names` (n,) of
    texts; never unpickled. Raises `InvalidInput` for another file."""
    try:
        rows, names = _of_npz(path) if path.suffix == ".npz" else (_of_npy(path), ())
    except InvalidInput:
        raise
    except (*FAULTS, ValueError):
        raise InvalidInput("The embeddings cannot be read as a plain array of numbers; save them again with "
                           "numpy.save or numpy.savez.") from None
    if rows.ndim != 2 or not rows.size:
        raise InvalidInput(f"The embeddings have the shape {rows.shape}; give one row of numbers per example.")
    if names and len(names) != len(rows):
        raise InvalidInput(f"There are {len(names):,} `{NAMES}` for {len(rows):,} embeddings; give one per row.")
    if len(set(names)) < len(names):
        raise InvalidInput(f"The `{NAMES}` of the embeddings have the same name twice; give every row its own.")
    return Embeddings(rows, names)


def _of_npy(path: Path) -> np.ndarray:
    with open(path, "rb") as file:
        shape, dtype = read_header(file)
        if dtype.hasobject or dtype.kind not in "biuf":
            raise InvalidInput(f"The embeddings have the type {dtype}; save them as numbers.")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != path.stat().st_size - file.tell():
            raise ValueError("a length other than declared")
    if 8 * math.prod(shape) >= MAX_BYTES:
        raise InvalidInput(f"The embeddings take {megabytes(8 * math.prod(shape))} in memory; give fewer than "
                           f"{megabytes(MAX_BYTES)}.")
    return np.load(path, allow_pickle=False)


def _of_npz(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    with open_zip(path, "npz file of embeddings", MAX_BYTES) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if not {ROWS} <= members.keys() <= {ROWS, NAMES}:
            raise InvalidInput(f"The npz contains {', '.join(f'`{name[:40]}`' for name in sorted(members)[:6])}; it "
                               f"needs `{ROWS}`, and may hold `{NAMES}` beside them.")
        if 8 * entries_of(archive, members[ROWS]) >= MAX_BYTES:
            raise InvalidInput(f"The embeddings take more than {megabytes(MAX_BYTES)} in memory; give fewer.")
        if NAMES in members:
            entries_of(archive, members[NAMES], "U")
    with np.load(path, allow_pickle=False) as arrays:
        return arrays[ROWS], tuple(map(str, arrays[NAMES].ravel())) if NAMES in members else ()


def entries() -> list[Stored]:
    """All stored files of the current user."""
    return [Stored(name, "Embeddings", spell_bytes(size), written) for name, written, size in FILES.all()]


def keep(file: BinaryIO, filename: str) -> str:
    """Check an npy, an npz or a table, store it, and return its name. A table has a column of lists of numbers, or the
    numbers in its columns, and if it likes one that names the examples (`engine.data.columns.NAMES`). Raises
    `InvalidInput`, and stores nothing then."""
    suffix = Path(filename).suffix.lower()
    if suffix not in (".npy", ".npz", *READERS):
        raise InvalidInput(f"`{filename[:80]}` is neither npy nor npz nor a table; save the embeddings with numpy, or "
                           "as CSV or Parquet.")
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"`{filename[:80]}` is larger than {megabytes(MAX_BYTES)}; give a smaller file.")
    if suffix in READERS:
        content, suffix = _of_table(read_frame(content, suffix).frame), ".npz"
    name = f"embeddings-{hashlib.sha256(content).hexdigest()[:24]}{suffix}"
    fresh = FILES.keep(name, content)
    try:
        read(name)
    except BaseException:
        if fresh:
            delete(name)
        raise
    return name


def _of_table(frame: pd.DataFrame) -> bytes:
    """An npz of the numbers and names of a table. Raises `InvalidInput` for a table that holds something else."""
    named = columns.find(frame, columns.NAMES)
    numbers = frame if named is None else frame.drop(columns=named)
    lists = [column for column, kind in kinds_of(numbers).items() if kind == LISTS]
    try:
        rows = np.stack([np.asarray(row, dtype=np.float64) for row in numbers[lists[0]]]) if lists else (
            numbers.to_numpy(dtype=np.float64))
    except (ValueError, TypeError):
        raise InvalidInput("The table of embeddings must hold numbers, the same number in each row; give a column of "
                           "lists of numbers, or one number per column, and optionally the names of the examples in a "
                           f"column `{columns.NAMES[0]}`.") from None
    arrays: dict[str, Any] = {ROWS: rows}
    if named is not None:
        arrays[NAMES] = np.array([str(one) for one in frame[named]])
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()
