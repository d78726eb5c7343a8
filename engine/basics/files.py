"""Files that are written whole or not at all, and disk faults as one sentence."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from engine.basics.errors import InvalidInput, MissingData, StoreError, WhichfluenceError
from engine.basics.values import capital

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def atomic_write(path: Path | str, content: bytes | str | Callable[[BinaryIO], Any]) -> Path:
    """Write a file whole or not at all; `content` is bytes, text (UTF-8) or a function of the open binary file."""
    path = Path(path)
    write_together({path: content})
    return path


def write_together(files: Mapping[Path, bytes | str | Callable[[BinaryIO], Any]]) -> None:
    """Write several files, all of them or none; raises `StoreError` on a fault of the disk.

    All content is on the disk under draft names before the first file gets its own, so that what stood
    there before is still whole when the disk turns out to be full. The last file vouches for the others, as a manifest
    does: an old one is removed before they change, so that whenever the process is killed, no file stands beside the
    manifest of another.
    """
    drafts = {path: path.with_name(f".{path.name}.{secrets.token_hex(4)}.part") for path in files}
    try:
        with disk_errors(f"`{next(iter(files))}`"):
            for path, draft in drafts.items():
                write_synced(draft, files[path])
            _rename_all(drafts)
            for folder in {path.parent for path in files}:
                sync_folder(folder)
    finally:
        _remove(drafts.values())


def discard(folder: Path, graves: Path) -> None:
    """Remove a folder whole: it is gone in one step, under another name in `graves` until its files are too.

    Nothing happens where there is none; raises plain `OSError` on a fault.
    """
    grave = graves / f"deleted.{os.getpid()}.{secrets.token_hex(4)}"
    if not folder.exists():
        return
    with suppress(FileNotFoundError):  # another process was faster
        graves.mkdir(parents=True, exist_ok=True)
        os.rename(folder, grave)
    shutil.rmtree(grave, ignore_errors=True)


def make_folder(folder: Path) -> Path:
    """A folder with those that it stands in, made where they are missing; raises `StoreError` on a fault."""
    with disk_errors(f"the folder `{folder}`"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def read_whole(path: Path, noun: str, most: int | None = None, too_large: str = "") -> bytes:
    """The content of a user's file, of at most `most` bytes.

    Raises `MissingData` where it is not there; `InvalidInput` where it cannot be read or is larger (`too_large`).
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size or most or 0  # a pipe has no size
            content = file.read() if most is None else file.read(min(size, most) + 1)
    except FileNotFoundError:
        raise MissingData(f"There is no {noun} `{path}`; check the path.") from None
    except OSError as error:
        raise InvalidInput(f"`{path}` cannot be read ({error.strerror}); give the path of a {noun}.") from None
    if most is not None and len(content) > most:
        raise InvalidInput(too_large)
    return content


def _rename_all(drafts: Mapping[Path, Path]) -> None:
    placed: list[Path] = []
    try:
        if len(drafts) > 1:
            last = list(drafts)[-1]
            last.unlink(missing_ok=True)
            with suppress(OSError):
                sync_folder(last.parent)
        for path, draft in drafts.items():
            os.replace(draft, path)
            placed.append(path)
    except BaseException:
        _remove(placed)
        raise


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def write_synced(path: Path, content: bytes | str | Callable[[BinaryIO], Any]) -> None:
    """Write a new file and wait until the disk has it; plain `OSError` on a fault."""
    with path.open("xb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the folder's list of names."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn faults of the disk into a `StoreError` sentence about `what`."""
    try:
        yield
    except WhichfluenceError:
        raise
    except OSError as error:
        if error.errno in FULL_DISK:
            raise StoreError(f"The disk is full, so {what} was not written; "
                             "free some space and repeat the run.") from error
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise StoreError(f"The folder for {what} does not exist; create it or choose another folder.") from error
        raise StoreError(f"{capital(what)} cannot be written ({error.strerror or error}); "
                         "choose another folder or change its permissions.") from error
