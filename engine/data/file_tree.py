"""The files below a folder or in a zip, by their relative path in composed letters (NFC)."""

from __future__ import annotations

import os
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from engine.basics.errors import InvalidInput
from engine.data.archive import FAULTS, check_member

SYSTEM = ("__MACOSX", "@eaDir", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True, eq=False)
class Tree:
    """members: path -> the file on disk or in `archive`, in the order of paths. empty: folders without a file.
    links: those that were not followed, because what they point to is read anyway, or holds this folder."""

    members: Mapping[str, Path | zipfile.ZipInfo]
    archive: zipfile.ZipFile | None = None
    empty: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    def read(self, name: str) -> bytes:
        """The content of a file. Raises `InvalidInput` where it is damaged or cannot be read."""
        member = self.members[name]
        try:
            if isinstance(member, Path):
                return member.read_bytes()
            assert self.archive is not None, "members of a zip come with it"
            return self.archive.read(member)
        except (*FAULTS, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged, encrypted or truncated"
            raise InvalidInput(f"`{name}` cannot be read ({reason}); save it again without a password.") from None

    def size(self, name: str) -> int:
        """The bytes of a file; 0 where it is gone, as behind a broken link."""
        member = self.members[name]
        if isinstance(member, zipfile.ZipInfo):
            return member.file_size
        return member.stat().st_size if member.exists() else 0

    def date(self, name: str) -> tuple[int, int, int, int, int, int]:
        """When a member of a zip was changed, as its list says it."""
        member = self.members[name]
        assert isinstance(member, zipfile.ZipInfo), "a member of a zip"
        return member.date_time


def is_hidden(name: str) -> bool:
    """Whether a path is hidden or system file and not by a person."""
    return any(part.startswith(".") or part in SYSTEM for part in PurePosixPath(name).parts)


def of_zip(archive: zipfile.ZipFile, noun: str, most: int) -> Tree:
    """The files of an opened zip. Raises `InvalidInput` for too many of them, two of one path, and those that
    `check_member` refuses."""
    files: dict[str, Path | zipfile.ZipInfo] = {}
    folders, members = set[str](), archive.infolist()
    if len(members) > most:
        raise InvalidInput(f"The {noun} holds {len(members):,} files; give one with at most {most:,}.")
    for member in members:
        check_member(member, noun)
        name = str(PurePosixPath(member.filename))
        if member.filename.endswith("/"):
            folders.add(name)
        elif name in files:
            raise InvalidInput(f"The {noun} holds two files `{name[:80]}`; pack the folder again.")
        else:
            files[name] = member
    filled = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    return Tree(dict(sorted(files.items())), archive, tuple(sorted(folders - filled)))


def of_folder(root: Path, most: int) -> Tree:
    """The files below a folder. A link to a folder elsewhere is followed once. Raises `InvalidInput` for more than
    `most` files, and for two whose names differ in nothing that can be seen."""
    files: dict[str, Path | zipfile.ZipInfo] = {}
    empty, links = list[str](), list[str]()
    for name, path in _walk(root, empty, links):
        if files.setdefault(name, path) != path:
            raise InvalidInput(f"There are two files `{name[:80]}`, whose names differ only in their Unicode form; "
                               "rename one.")
        if len(files) > most:
            raise InvalidInput(f"The folder contains more than {most:,} files; give one with fewer.")
    return Tree(dict(sorted(files.items())), None, tuple(empty), tuple(links))


def _walk(root: Path, empty: list[str], links: list[str]) -> Iterator[tuple[str, Path]]:
    """(relative path, file) below a folder: real folders first, then links to folders that none of them is."""
    waiting, later = [(root, "")], list[tuple[Path, str]]()
    home = root.resolve()
    seen = {home}
    while waiting or later:
        folder, name = waiting.pop() if waiting else later.pop(0)
        if not waiting and folder.is_symlink():
            target = folder.resolve()
            if target in seen or home.is_relative_to(target):
                links.append(name)
                continue
            seen.add(target)
        inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
        if not inside and name:
            empty.append(name)
        for entry in inside:
            path, own = Path(entry.path), f"{name}/{_text(entry.name)}".lstrip("/")
            if not entry.is_dir():
                yield own, path
            elif entry.is_symlink():
                later.append((path, own))
            else:
                seen.add(path.resolve())
                waiting.append((path, own))


def _text(name: str) -> str:
    """A file's name in composed letters; one that is no UTF-8 in the letters of Western Europe."""
    try:
        name.encode()
    except UnicodeEncodeError:
        name = os.fsencode(name).decode("cp1252", "replace")
    return unicodedata.normalize("NFC", name)
