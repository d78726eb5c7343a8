"""Files of a user's own records, stored by content: HOME/uploads/records-DIGEST.jsonl."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write, disk_errors, make_folder
from engine.basics.quota import require_room
from engine.data.records import parse_content, read_jsonl
from engine.store.results import home

MOST_FIRST, BLANK = 10_000_000, b"\xef\xbb\xbf \t\r\n"
_NAME = re.compile(r"records-[0-9a-f]{24}\.jsonl")


@dataclass(frozen=True)
class RecordFile:
    """written: seconds since 1970; size: bytes."""

    name: str
    written: float
    size: int


def entries() -> list[RecordFile]:
    """All stored files of the current user."""
    return [RecordFile(path.name, path.stat().st_mtime, path.stat().st_size)
            for path in sorted((home() / "uploads").glob("records-*.jsonl")) if _NAME.fullmatch(path.name)]


def first(name: str) -> str:
    """The prompt of its first record. Raises `InvalidInput` where it cannot be read."""
    with Path(path_of(name)).open("rb") as file:
        line = file.readline(MOST_FIRST)
    return (read_jsonl(path_of(name)) if line.lstrip(BLANK).startswith(b"[") else parse_content(line))[0].prompt


def delete(name: str) -> None:
    """Delete a stored file; one that is gone already is fine. Raises `InvalidInput` for what is none."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"`{name[:60]}` is not the name of a kept file of records; choose one from the list.")
    with disk_errors(f"the records `{name}`"):
        (home() / "uploads" / name).unlink(missing_ok=True)


def keep(content: bytes) -> str:
    """Check an uploaded JSONL and keep it; returns where. Raises `InvalidInput`."""
    parse_content(content)
    path = home() / "uploads" / f"records-{hashlib.sha256(content).hexdigest()[:24]}.jsonl"
    if not path.is_file():
        require_room(len(content))
        make_folder(path.parent)
        atomic_write(path, content)
    return str(path)


def path_of(name: str) -> str:
    """The path of a stored file by its name, for an address. Raises `InvalidInput` if it is not there."""
    if name != name.strip("./\\") or "/" in name or "\\" in name or not (home() / "uploads" / name).is_file():
        raise InvalidInput("the uploaded file is not on this machine; upload it again.")
    return str(home() / "uploads" / name)
