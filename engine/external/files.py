"""Scores from files of other programs: npy, npz, safetensors, torch's, parquet, CSV and folders, never unpickled.

A file holds a table of scores, one row a query and one column a training example or the other way round, or (parquet
and CSV) a long list with the columns query, candidate and score.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole
from engine.external import budgets
from engine.external.arrays import NEVER, read_npy, read_npz, read_safetensors, read_torch
from engine.external.frames import read_csv, read_parquet
from engine.external.header_row import AUTO, CHOICES, Numbering
from engine.external.score_folder import read_score_folder, read_zipped
from engine.external.table import Table, Wanted

READERS: dict[str, Callable[[bytes, Wanted], Table]] = {
    ".npy": read_npy, ".npz": read_npz, ".safetensors": read_safetensors, ".parquet": read_parquet, ".csv": read_csv,
    ".zip": read_zipped, ".pt": read_torch, ".pth": read_torch, ".mmap": read_npy}
"""TRAK writes npy files that are called `.mmap`."""
IN_FOLDERS = ("pairwise_scores.safetensors", "*/pairwise_scores.safetensors", "scores/*.mmap")
"""Where kronfluence and TRAK write scores below the folder that they are given."""


def read_table(source: str | Path | BinaryIO, filename: str = "", key: str = "", first_row: str = AUTO,
               known: Numbering | None = None) -> Table:
    """The table in a file of a kind that its name says, or in a folder of scores; `Wanted` says what the rest means.

    Raises `MissingData` where there is no such file; `InvalidInput` for another kind of file, one that is too large
    or damaged, Python objects, more than two axes, or text where numbers should stand.
    """
    if isinstance(source, str | Path) and Path(source).is_dir():
        if (file := _in_folder(Path(source))) is None:
            return read_score_folder(Path(source))
        source = file
    filename = filename or str(source)
    reader = READERS.get(Path(filename).suffix.lower())
    if reader is None:
        raise InvalidInput(f"`{Path(filename).name[:60]}` is of no kind that holds scores here; give "
                           f"{', '.join(READERS)}.")
    if first_row not in (AUTO, *CHOICES):
        raise InvalidInput(f"The first row is said to be `{first_row[:40]}`; say {', '.join(CHOICES)} or {AUTO}.")
    table = _decoded(reader, _content(source), Wanted(key, first_row, known))
    if table.values.ndim == 1:
        table = replace(table, values=table.values[None])
    if table.values.ndim != 2 or table.values.size == 0:
        raise InvalidInput(f"The scores have shape {table.values.shape}; give a table of queries and training "
                           "examples.")
    return table


def _in_folder(folder: Path) -> Path | None:
    """The one file of scores that kronfluence or TRAK wrote below a folder; None where there is none. Raises
    `InvalidInput` for several."""
    files = [file for pattern in IN_FOLDERS for file in sorted(folder.glob(pattern))]
    if len(files) > 1:
        names = ", ".join(f"`{file.relative_to(folder)}`" for file in files[:5])
        raise InvalidInput(f"The folder holds {len(files):,} files of scores, {names}; give the path of one of them.")
    return files[0] if files else None


def _decoded(reader: Callable[[bytes, Wanted], Table], content: bytes, wanted: Wanted) -> Table:
    """What a reader makes of a file. The libraries raise almost anything for damaged files; all of it is one
    sentence here."""
    try:
        return reader(content, wanted)
    except InvalidInput:
        raise
    except MemoryError:
        raise InvalidInput("The file needs more memory than this machine has free; save the scores as float32, or "
                           "fewer.") from None
    except Exception as error:
        if "allow_pickle" in str(error) or isinstance(error, pickle.UnpicklingError):
            raise InvalidInput(NEVER) from None
        raise InvalidInput("The file cannot be read as its name says: it is damaged, or of another kind; save it "
                           "again.") from None


def _content(source: str | Path | BinaryIO) -> bytes:
    if isinstance(source, str | Path):
        return read_whole(Path(source), "file", budgets.MOST_BYTES, budgets.too_large())
    content = source.read(budgets.MOST_BYTES + 1)
    budgets.check_bytes(len(content))
    return content
