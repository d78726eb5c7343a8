"""What a user gave, stored under names that its content gives: HOME/FOLDER/NAME."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.basics.contents import content as file_content
from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import atomic_write, discard, disk_errors, make_folder
from engine.basics.folders import home_folder
from engine.basics.quota import require_room


@dataclass(frozen=True)
class Stored:
    """What is known of such a thing without loading it. written: seconds since 1970; trouble: why it cannot be used."""

    name: str
    title: str
    summary: str
    written: float
    trouble: str = ""


@dataclass(frozen=True)
class OwnFiles:
    """Files, or folders, of one kind. pattern: of their names; suffix: what the file has after its name. noun: what one
    of them is called; remedy: what to do where it is missing, such as `upload the file again`. hashed: whether the
    digest in a name is that of the file."""

    folder: str
    pattern: str
    noun: str
    remedy: str
    suffix: str = ""
    hashed: bool = False

    def is_name(self, name: str) -> bool:
        return re.fullmatch(self.pattern, name) is not None

    def path(self, name: str) -> Path:
        """Where it lies. Raises `InvalidInput` for what is no name of one."""
        if not self.is_name(name):
            raise InvalidInput(f"`{name[:60]}` is not the name of {self.noun}; {self.remedy}.")
        return home_folder() / self.folder / f"{name}{self.suffix}"

    def require(self, name: str) -> Path:
        """The same; raises `MissingData` where it is not there, or is damaged."""
        path = self.path(name)
        if not path.exists():
            raise MissingData(f"`{name}`, {self.noun}, is no longer on this machine; {self.remedy}.")
        if not self._is_whole(path):
            raise MissingData(f"`{name}`, {self.noun}, is damaged on this machine; {self.remedy}.")
        return path

    def _is_whole(self, path: Path) -> bool:
        digest = re.search("[0-9a-f]{16,}", path.name)
        return not self.hashed or digest is None or _content(path).startswith(digest[0])

    def has(self, name: str) -> bool:
        return self.is_name(name) and self.path(name).exists()

    def content(self, name: str) -> str:
        """The digest of a file's content; empty where it is not there, or cannot be read."""
        return _content(self.path(name)) if self.has(name) else ""

    def keep(self, name: str, content: bytes) -> bool:
        """Store a file unless it is there and whole; whether it is new. Raises `StoreError` where there is no room."""
        path = self.path(name)
        if path.exists() and self._is_whole(path):
            return False
        require_room(len(content))
        make_folder(path.parent)
        atomic_write(path, content)
        return True

    def all(self) -> list[tuple[str, float, int]]:
        """(name, seconds since 1970 when it was written, bytes) of all of them, by name."""
        listed, folder = [], home_folder() / self.folder
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            name = path.name.removesuffix(self.suffix)
            with suppress(OSError):  # removed meanwhile
                if self.is_name(name) and path == self.path(name):
                    stat = path.stat()
                    listed.append((name, stat.st_mtime, stat.st_size))
        return listed

    def delete(self, name: str) -> None:
        """Remove one; none is fine. Raises `InvalidInput` for what is no name of one."""
        path = self.path(name)
        with disk_errors(f"`{name}`"):
            if path.is_dir():
                discard(path, home_folder() / "tmp")
            else:
                path.unlink(missing_ok=True)


def _content(path: Path) -> str:
    with suppress(OSError):
        return file_content(path)
    return ""
