"""Files of a user's own records, kept by content: HOME/uploads/records-DIGEST.jsonl."""

from __future__ import annotations

import hashlib

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write, make_folder
from engine.basics.quota import require_room
from engine.data.records import parse_lines, split_lines
from engine.store.results import home


def keep(content: bytes) -> str:
    """Check an uploaded JSONL and keep it; returns where. Raises `InvalidInput`."""
    parse_lines(split_lines(content))
    path = home() / "uploads" / f"records-{hashlib.sha256(content).hexdigest()[:24]}.jsonl"
    if not path.is_file():
        require_room(len(content))
        make_folder(path.parent)
        atomic_write(path, content)
    return str(path)


def path_of(name: str) -> str:
    """The path of a kept file by its name, for an address. Raises `InvalidInput` if it is not there."""
    if name != name.strip("./\\") or "/" in name or "\\" in name or not (home() / "uploads" / name).is_file():
        raise InvalidInput("the uploaded file is not on this machine; upload it again.")
    return str(home() / "uploads" / name)
