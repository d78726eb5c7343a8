"""A user's own data, kept by content under HOME/uploads: an npz of arrays, a zip of an image folder, or records as
JSONL."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import BinaryIO

from engine.basics.contents import content as file_content
from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import atomic_write, make_folder
from engine.basics.folders import home_folder
from engine.basics.quota import require_room
from engine.data import record_sets
from engine.data.dataset import Dataset
from engine.data.image_folder import load_image_folder
from engine.data.npz import load_npz
from engine.data.packing import packed

PREFIX = "upload-"
MOST_BYTES = 500_000_000
TITLES = {".npz": "Your arrays (npz)", ".zip": "Your images (zip)", ".jsonl": "Your records (JSONL)"}
RECORDS = ".jsonl"
_NAME = re.compile(r"upload-[0-9a-f]{16}\.(npz|zip|jsonl)")


def is_upload(name: str) -> bool:
    return name.startswith(PREFIX)


def title(name: str) -> str:
    """An upload's name for people: what kind of data it is."""
    return TITLES[Path(name).suffix]


def holds_records(name: str) -> bool:
    """Whether an upload holds records of a language model."""
    return name.endswith(RECORDS)


def keep(file: BinaryIO, filename: str) -> str:
    """Check an uploaded file, keep it, and return its dataset name `upload-<digest>` with its suffix.

    Raises `InvalidInput` for another kind of file, one that is too large, or one that does not load;
    nothing is kept then.
    """
    suffix = Path(filename).suffix.lower()
    if suffix not in TITLES:
        raise InvalidInput(f"`{filename}` is neither .npz nor .zip nor .jsonl; give arrays as npz, an image folder as "
                           "zip, or the records of a language model as JSONL.")
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InvalidInput(f"`{filename}` is larger than {MOST_BYTES // 1_000_000} MB; give a smaller file.")
    name = f"{PREFIX}{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    path = _folder() / name
    fresh = not path.exists()
    if fresh:
        require_room(len(content))
        make_folder(path.parent)
        atomic_write(path, content)
    try:
        load(name)
    except BaseException:
        if fresh:
            path.unlink(missing_ok=True)
        raise
    return name


def keep_path(path: Path) -> str:
    """`keep` for the path of an npz, a zip, or the folder of an image folder. Raises as `keep` does, and
    `MissingData` where nothing is there."""
    if not path.exists():
        raise MissingData(f"There is no file or folder `{path}`; check the path.")
    if path.is_dir():
        return keep(packed(path, MOST_BYTES), f"{path.name or 'folder'}.zip")
    try:
        with open(path, "rb") as file:
            return keep(file, path.name)
    except OSError as error:
        raise InvalidInput(f"`{path}` cannot be read ({error.strerror}); check its permissions.") from None


def load(name: str) -> Dataset:
    """A kept upload as a dataset. Raises `MissingData` where it is no longer there."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"`{name[:60]}` is not the name of an upload; upload the file again.")
    path = _folder() / name
    if not path.exists():
        raise MissingData(f"The upload `{name}` is no longer on this machine; upload the file again.")
    if path.suffix == ".npz":
        return load_npz(path, max_bytes=MOST_BYTES).dataset(name, "Your arrays")
    if path.suffix == RECORDS:
        return record_sets.own(path, name, "Your records")
    return load_image_folder(path, name=name, title="Your images", max_bytes=MOST_BYTES)


def content(name: str) -> str:
    """The digest of what the kept file holds; empty where it is not here."""
    path = _folder() / name
    return file_content(path) if _NAME.fullmatch(name) and path.is_file() else ""


def _folder() -> Path:
    return Path(home_folder()) / "uploads"
