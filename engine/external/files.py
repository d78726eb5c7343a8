"""Scores from files of other programs: npy, npz, safetensors, torch's, parquet, CSV and folders, never unpickled.

A file holds a table of scores, one row per query and one column a training example or the other way round, or (parquet
and CSV) a long list with the columns query, candidate and score.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import BinaryIO

from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole
from engine.estimators.external import LONGEST_NAME
from engine.external import budgets
from engine.external.arrays import NEVER, read_npy, read_npz, read_safetensors, read_torch
from engine.external.frames import read_csv, read_parquet
from engine.external.header_row import AUTO, CHOICES, Numbering
from engine.external.score_folder import INFO, SCORES, read_score_folder, read_zipped
from engine.external.table import Table, Wanted

READERS: dict[str, Callable[[bytes, Wanted], Table]] = {
    ".npy": read_npy, ".npz": read_npz, ".safetensors": read_safetensors, ".parquet": read_parquet, ".csv": read_csv,
    ".tsv": read_csv, ".zip": read_zipped, ".pt": read_torch, ".pth": read_torch, ".mmap": read_npy}
"""TRAK writes npy files that are called `.mmap`."""
PAIRWISE = "pairwise_scores.safetensors"
IN_FOLDERS = (PAIRWISE, f"*/{PAIRWISE}", "scores/*.mmap")
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
        raise InvalidInput(f"`{Path(filename).name[:60]}` is not a supported score file; give "
                           f"{', '.join(READERS)}.")
    if first_row not in (AUTO, *CHOICES):
        raise InvalidInput(f"The first row is given as `{first_row[:40]}`; use {', '.join(CHOICES)} or {AUTO}.")
    return _two_axes(_decoded(reader, _content(source), Wanted(
        key, first_row, known, PurePath(filename).name == PAIRWISE)), known)


def _two_axes(table: Table, known: Numbering | None) -> Table:
    """The table with its queries and training examples as its two axes; tables of several checkpoints are summed.
    Raises `InvalidInput` for a shape of which that cannot be told."""
    shape = table.values.shape
    if table.values.ndim == 1 and table.values.size:
        return replace(table, values=table.values[None])
    if table.values.ndim == 3 and table.values.size and known is not None:
        fitting = [axis for axis in range(3) if known.fits(*(shape[other] for other in range(3) if other != axis))]
        if len(fitting) == 1:
            said = (f"The array is {' × '.join(f'{length:,}' for length in shape)}: its {shape[fitting[0]]:,} tables, "
                    "as of checkpoints, are summed.")
            return replace(table, values=table.values.sum(fitting[0]), remark=" ".join(filter(None, (table.remark,
                                                                                                     said))))
    if table.values.ndim != 2 or table.values.size == 0:
        raise InvalidInput(f"The scores have shape {shape}; give a table of queries and training examples, or one for "
                           "each checkpoint, whose other two axes are these.")
    return table


def sources(path: Path) -> list[Path]:
    """What of a path is read, each as a table: itself, or the files and score folders that lie in a folder, and where
    none does, the files in its folders. Raises `InvalidInput` for a folder without any."""
    if not path.is_dir() or _is_score_folder(path):
        return [path]
    listed = {*_written(path)}
    for entry in path.iterdir():
        if entry.is_dir():
            listed |= {entry} if _is_score_folder(entry) else {*_written(entry)}
        elif _is_read(entry):
            listed.add(entry)
    listed = listed or {*filter(_is_read, path.rglob("*"))}
    if not listed:
        raise InvalidInput(f"The folder `{path}` holds no scores; give a file ({', '.join(READERS)}), or a folder of "
                           "such files.")
    return sorted(listed)


def names(files: Sequence[str]) -> list[str]:
    """What tables are called after their files, all different; one whose file is always called the same by its
    folder."""
    named: list[str] = []
    for path in map(PurePath, files):
        fixed = {INFO, SCORES, *(PurePath(pattern).name for pattern in IN_FOLDERS)}
        within = [part for part in path.parent.parts[::-1] if part not in ("/", ".", "scores")]
        stem = (within[0] if path.name in fixed and within else path.stem)[:LONGEST_NAME - 5].strip() or "scores"
        stem = "".join(letter if letter.isprintable() else " " for letter in stem)
        others = sum(name == stem or name.startswith(f"{stem} (") for name in named)
        named.append(f"{stem} ({others + 1})" if others else stem)
    return named


def _is_read(file: Path) -> bool:
    return file.suffix.lower() in READERS and not file.name.startswith(".") and file.is_file()


def _is_score_folder(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (INFO, SCORES))


def _written(folder: Path) -> list[Path]:
    """The files of scores that kronfluence or TRAK wrote below a folder."""
    return [file for pattern in IN_FOLDERS for file in sorted(folder.glob(pattern))]


def _in_folder(folder: Path) -> Path | None:
    """The one file of scores that kronfluence or TRAK wrote below a folder; None where there is none. Raises
    `InvalidInput` for several."""
    files = _written(folder)
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
        raise InvalidInput("The file needs more memory than is free; save the scores as float32, or "
                           "fewer.") from None
    except Exception as error:
        if "allow_pickle" in str(error) or isinstance(error, pickle.UnpicklingError):
            raise InvalidInput(NEVER) from None
        raise InvalidInput("The file cannot be read in the format of its name: it is damaged or has a different "
                           "format; save it again.") from None


def _content(source: str | Path | BinaryIO) -> bytes:
    if isinstance(source, str | Path):
        return read_whole(Path(source), "file", budgets.MOST_BYTES, budgets.too_large())
    content = source.read(budgets.MOST_BYTES + 1)
    budgets.check_bytes(len(content))
    return content
