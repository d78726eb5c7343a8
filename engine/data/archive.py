"""Zip files from strangers: opened only after what they declare has been checked, under names as people read them."""

from __future__ import annotations

import lzma
import stat
import unicodedata
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from engine.basics.errors import InvalidInput, MissingData

MAX_BYTES = 500_000_000
FAULTS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, NotImplementedError)

ZipSource = str | Path | BinaryIO


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


def open_zip(source: ZipSource, noun: str, max_bytes: int = MAX_BYTES) -> zipfile.ZipFile:
    """The zip archive at a path or in a binary file; `noun` names it in the sentences.

    Raises MissingData if there is no such file; InvalidInput if it is no archive, or if it or the sum of the
    sizes that it declares for its members reaches `max_bytes`.
    """
    size = _size(source, noun)
    if size >= max_bytes:
        raise InvalidInput(f"The {noun} has {megabytes(size)}; give one below {megabytes(max_bytes)}.")
    try:
        archive = zipfile.ZipFile(source)
    except (*FAULTS, ValueError):
        raise InvalidInput(f"The {noun} cannot be opened: it has a different format, or is truncated; save it "
                           "again.") from None
    declared = sum(member.file_size for member in archive.infolist())
    if declared >= max_bytes:
        archive.close()
        raise InvalidInput(f"The {noun} would unpack to {megabytes(declared)}; give one below {megabytes(max_bytes)}.")
    _rename(archive)
    return archive


def _rename(archive: zipfile.ZipFile) -> None:
    """Members by the names that they were given: UTF-8 without its flag (the Finder's) is read as such, letters are
    composed (NFC), and folders end at a slash. Names in an old code page stay as zipfile reads them."""
    for member in archive.infolist():
        name = member.filename
        if not member.flag_bits & 0x800:
            with suppress(UnicodeError):
                name = name.encode("cp437").decode("utf-8")
        member.filename = unicodedata.normalize("NFC", name).replace("\\", "/")
    archive.NameToInfo = {member.filename: member for member in archive.infolist()}


def _size(source: ZipSource, noun: str) -> int:
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.exists():
            raise MissingData(f"There is no {noun} `{source}`; check the path.")
        if not path.is_file():
            raise InvalidInput(f"`{source}` is not a file; give the path of a {noun}.")
        return path.stat().st_size
    size = source.seek(0, 2)
    source.seek(0)
    return size


def check_member(member: zipfile.ZipInfo, noun: str) -> None:
    """Raises `InvalidInput` for a member without a name, one that could leave the folder, and a link."""
    name = member.filename
    path = PurePosixPath(name)
    if not name:
        raise InvalidInput(f"The {noun} contains a file without a name; pack the folder again.")
    if not path.parts or path.is_absolute() or ".." in path.parts or path.parts[0][1:2] == ":":
        raise InvalidInput(f"The {noun} contains a member `{name}` that points outside it; pack the folder again.")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise InvalidInput(f"The {noun} contains the link `{name}`; pack the files themselves.")
