"""Where data lies: the user's own folder (read only to us) and the folder that we may write to."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

DATA = "WHICHFLUENCE_DATA"
HOME = "WHICHFLUENCE_HOME"


def data_folder() -> Path | None:
    """The folder that WHICHFLUENCE_DATA names, or None where the variable is not set."""
    named = os.environ.get(DATA, "").strip()
    return Path(named).expanduser() if named else None


def home_folder() -> Path:
    """The folder for downloads and unpacked files: WHICHFLUENCE_HOME, else the user's data folder. Not created."""
    named = os.environ.get(HOME, "").strip()
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("whichfluence", appauthor=False))


def home_name() -> str:
    """How a sentence names that folder."""
    return HOME if os.environ.get(HOME, "").strip() else f"the user data folder (or set {HOME})"
