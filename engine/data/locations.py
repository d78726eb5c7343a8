"""Where the files of a dataset are looked for: under WHICHFLUENCE_DATA, then in our own folder of downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.basics.contents import contents
from engine.basics.errors import MissingData
from engine.basics.folders import DATA, data_folder, home_name, shared_folder


def downloads() -> Path:
    """Our own folder, which a download fills."""
    return shared_folder() / "datasets"


@dataclass(frozen=True)
class Location:
    """The files of a dataset in a folder below a root.

    size: of the download, in words. remedy: what to do where they are nowhere. packed: a suffix with which a file
    counts as well, as `.gz`.
    """

    title: str
    folder: Path
    files: tuple[str, ...]
    size: str
    remedy: str
    packed: str = ""

    def source(self, root: Path, name: str) -> Path | None:
        """The file `name` under a root, plain or packed; None where it is not there."""
        paths = [root / self.folder / f"{name}{suffix}" for suffix in dict.fromkeys(("", self.packed))]
        return next((path for path in paths if path.is_file()), None)

    def sources(self, root: Path) -> list[Path]:
        """The files that are under a root, in their order."""
        return [path for name in self.files if (path := self.source(root, name)) is not None]

    def lacking(self, root: Path) -> list[str]:
        """The files that are not under a root."""
        return [name for name in self.files if self.source(root, name) is None]

    def root(self) -> Path | None:
        """The root under which all files are; None where they have to be downloaded."""
        named = data_folder()
        roots = [downloads()] if named is None else [named, downloads()]
        return next((root for root in roots if not self.lacking(root)), None)

    def ready(self, download: bool, fetch: Callable[[], None]) -> Path:
        """A root under which all files are; where there is none, `fetch` brings them to our own folder first.

        Raises MissingData if they are nowhere and `download` is not allowed.
        """
        root = self.root()
        if root is not None:
            return root
        if not download:
            raise MissingData(self.forbidden())
        fetch()
        return downloads()

    def content(self) -> str:
        """The digest of what the files hold; empty where they are not all on this machine."""
        root = self.root()
        return "" if root is None else contents(self.sources(root))

    def available(self) -> tuple[bool, str]:
        """Whether the files can be read without a network, and a sentence on where they are or what to do."""
        root = self.root()
        if root is None:
            return False, f"{self.absence()}; {self.remedy}, or load it once with a network ({self.size})."
        names = ", ".join(path.name for path in self.sources(root))
        if root == downloads():
            return True, f"Found in {home_name()} in {root.name}/{self.folder.as_posix()}: {names}."
        return True, f"Found under {DATA} in {self.folder.as_posix()}: {names}."

    def absence(self) -> str:
        """What is not there, to begin a sentence with."""
        named = data_folder()
        if named is None:
            return f"{self.title} is not on this machine ({DATA} is not set)"
        first = f"{self.folder.as_posix()}/{self.lacking(named)[0]}{self.packed}"
        return f"{self.title} is not complete under {DATA} ({first} is missing)"

    def forbidden(self) -> str:
        """A sentence for where the files are nowhere and no download is allowed."""
        return f"{self.absence()}; {self.remedy}, or allow the download ({self.size})."

    def unreachable(self) -> str:
        """A sentence for a download that failed."""
        return f"{self.absence()} and could not be downloaded; {self.remedy}, or connect to a network."
