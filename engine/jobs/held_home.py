"""The home folder of a worker, noticed when it is deleted or replaced under it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from engine.basics.errors import StoreError


class HeldHome:
    """Holds a folder open, so that another that takes its place is told apart; `files` have to stay in it.

    Use it as a context, which lets go of the folder at its end.
    """

    def __init__(self, folder: Path, files: tuple[str, ...] = ()) -> None:
        self.folder, self.files = folder, files
        self._handle = os.open(folder, os.O_RDONLY) if os.name == "posix" else None

    def __enter__(self) -> HeldHome:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            with suppress(OSError):
                os.close(self._handle)
            self._handle = None

    @property
    def stands(self) -> bool:
        """Whether it is the folder that was opened, with its files."""
        try:
            now = self.folder.stat()
            for name in self.files:
                (self.folder / name).stat()
        except OSError:
            return False
        return self._handle is None or os.path.samestat(os.fstat(self._handle), now)

    def check(self) -> None:
        """Raises `StoreError` where it was deleted or replaced."""
        if not self.stands:
            raise StoreError(f"The folder `{self.folder}` was deleted or replaced while in use, so its "
                             "unfinished runs are lost; submit them again, and a new worker starts automatically.")
