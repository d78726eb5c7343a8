"""Where data lies: the user's own folder (read only to us) and the folders that we may write to.

One process may serve several people. The shared folder holds what is the same for all: downloads, converted models,
trained weights. A home holds what is somebody's: uploads, saved views, decisions, imported scores, runs and results.
Where one person works, both are one folder.

    SHARED/                     WHICHFLUENCE_HOME, else the user's data folder
    SHARED/users/<name>/        the home of one of several
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import ParamSpec, TypeVar

import platformdirs

DATA = "WHICHFLUENCE_DATA"
HOME = "WHICHFLUENCE_HOME"
USERS = "users"
Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def data_folder() -> Path | None:
    """The folder that WHICHFLUENCE_DATA names, or None where the variable is not set."""
    named = os.environ.get(DATA, "").strip()
    return Path(named).expanduser() if named else None


def shared_folder() -> Path:
    """The folder of the whole process: WHICHFLUENCE_HOME, else the user's data folder. Not created."""
    named = os.environ.get(HOME, "").strip()
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("whichfluence", appauthor=False))


def home_folder() -> Path:
    """The folder of whoever asks: that of `at_home`, else that of `Asker`, else the shared one. Not created."""
    return _within.get() or Asker.home() or shared_folder()


def home_name() -> str:
    """How a sentence names that folder."""
    return HOME if os.environ.get(HOME, "").strip() else f"the user data folder (or set {HOME})"


def user_home(identity: str) -> Path:
    """The home of one of several people, by what identifies them; the folder's name does not say who it is."""
    return shared_folder() / USERS / hashlib.sha256(identity.encode()).hexdigest()[:24]


def user_homes(shared: Path) -> list[Path]:
    """The homes in a shared folder, in the order of their names."""
    return sorted(path for path in (shared / USERS).glob("[0-9a-f]*") if path.is_dir())


def writable(folder: Path) -> bool:
    """Whether a folder that is there, or will be made, takes files."""
    standing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return standing.is_dir() and os.access(standing, os.W_OK)


def shared_by(home: Path) -> Path:
    """The shared folder that a home lies in; the home itself where it is no one of several."""
    home = Path(home).absolute()
    return home.parents[1] if home.parent.name == USERS else home


class Asker:
    """Who asks in this thread. A server of several people says once how to identify them; None: nobody in
    particular."""

    home: Callable[[], Path | None] = staticmethod(lambda: None)

    @classmethod
    def identified_by(cls, home: Callable[[], Path | None]) -> None:
        """From now on `home()` gives the home of whoever asks in the thread that calls it."""
        cls.home = staticmethod(home)


_within: ContextVar[Path | None] = ContextVar("home", default=None)


@contextmanager
def at_home(home: Path) -> Iterator[None]:
    """While it lasts, this thread asks for the one whose home it is."""
    before = _within.set(home)
    try:
        yield
    finally:
        _within.reset(before)


def carried(work: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """`work` for another thread, which asks for whoever asks now."""
    home = home_folder()

    def run(*given: Given.args, **named: Given.kwargs) -> Returned:
        with at_home(home):
            return work(*given, **named)

    return run
