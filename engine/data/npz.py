"""`problem.npz`: a user's arrays from a file, with sizes and types checked before a byte of data is read."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.archive import FAULTS, MAX_BYTES, ZipSource, megabytes, open_zip
from engine.data.arrays import KEYS, OPTIONAL, Arrays, from_arrays

NOUN = "npz file"


def load_npz(source: ZipSource, *, max_bytes: int = MAX_BYTES, targets: bool = False) -> Arrays:
    """Read `x_train`, `y_train`, `x_query`, `y_query`, optional `candidates` and `flags` from a path or a binary
    file. targets: as `from_arrays` takes it.

    Never unpickles. Raises MissingData if there is no such file; InvalidInput if it is not such an npz, if file,
    contents or contents as float64 reach `max_bytes`, or for whatever `from_arrays` refuses.
    """
    with open_zip(source, NOUN, max_bytes) as archive:
        _check_keys([member.filename for member in archive.infolist()])
        needed = sum(8 * entries(archive, member) for member in archive.infolist())
        if needed >= max_bytes:
            raise InvalidInput(f"The {NOUN} needs {megabytes(needed)} in float64; give one below "
                               f"{megabytes(max_bytes)}.")
    if not isinstance(source, str | Path):
        source.seek(0)
    try:
        with np.load(source, allow_pickle=False) as arrays:
            read = {key: arrays[key] for key in arrays.files}
    except (*FAULTS, ValueError):
        raise InvalidInput(f"The {NOUN} is damaged or encrypted; save it again with numpy.savez.") from None
    return from_arrays(**read, targets=targets)


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """(shape, type) that an npy file declares, before its data are read. Raises `ValueError` for what is no header,
    and as reading does."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except FAULTS:
        raise
    except Exception as error:  # numpy reads it as Python: TokenError, SyntaxError, TypeError and what else that raises
        raise ValueError(f"no header of an array ({type(error).__name__})") from None
    return shape, dtype


def _check_keys(members: list[str]) -> None:
    keys = [name.removesuffix(".npy") for name in members]
    for key in KEYS:
        if key not in keys:
            raise InvalidInput(f"The {NOUN} has no `{key}`; it needs " + ", ".join(f"`{k}`" for k in KEYS) + ".")
    for name, key in zip(members, keys, strict=True):
        if key not in KEYS + OPTIONAL or name == key:
            raise InvalidInput(f"The {NOUN} has an unknown array `{key}`; it may hold "
                               + ", ".join(f"`{k}`" for k in KEYS + OPTIONAL) + " only.")
    if len(set(keys)) < len(keys):
        raise InvalidInput(f"The {NOUN} holds an array twice; save it again with numpy.savez.")


def entries(archive: zipfile.ZipFile, member: zipfile.ZipInfo, kinds: str = "biuf") -> int:
    """The number of entries that an array's header declares. Raises `InvalidInput` where the member is not of just that
    length, and for types of other numpy kinds."""
    key = member.filename.removesuffix(".npy")
    try:
        with archive.open(member) as file:
            shape, dtype = read_header(file)
            rest = member.file_size - file.tell()
    except (*FAULTS, ValueError):
        raise InvalidInput(f"`{key}` in the {NOUN} cannot be read as a plain array of numbers; "
                           "save it again with numpy.savez.") from None
    if dtype.hasobject:
        raise InvalidInput(f"`{key}` is an array of Python objects, which is never unpickled; save it as numbers.")
    if dtype.kind not in kinds:
        raise InvalidInput(f"`{key}` has the type {dtype}; save it as numbers.")
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != rest:
        raise InvalidInput(f"`{key}` in the {NOUN} does not have its declared length; save it again with numpy.savez.")
    return math.prod(shape)
