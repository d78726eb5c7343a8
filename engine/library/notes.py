"""Notes and tags on what the library holds, one small JSON file each.

    HOME/library/notes/<shelf>-<key>.json      {"format", "note", "tags"}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write, disk_errors, make_folder, read_whole
from engine.basics.folders import home_folder
from engine.basics.quota import require_room
from engine.basics.strict_json import parse_json
from engine.basics.values import Value
from engine.store.comparisons import Note

FORMAT = 1
LONGEST_TAG, MOST_TAGS = 40, 20
MOST_BYTES = 100_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")


class Noted(Value):
    """A note and tags."""

    format: Annotated[int, Field(ge=1, le=FORMAT)] = FORMAT
    note: Note = ""
    tags: tuple[str, ...] = ()

    @field_validator("tags")
    @classmethod
    def _lines(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        distinct = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
        if len(distinct) > MOST_TAGS:
            raise InvalidInput(f"There are {len(distinct):,} tags; give at most {MOST_TAGS}.")
        for tag in distinct:
            if len(tag) > LONGEST_TAG or not tag.isprintable():
                raise InvalidInput(f"The tag `{tag[:20]}` is not a word or two of at most {LONGEST_TAG} characters; "
                                   "shorten it.")
        return distinct


def split(tags: str) -> tuple[str, ...]:
    """Tags that are written in one line, separated by commas."""
    return tuple(tags.split(","))


def write(shelf: str, key: str, note: str, tags: str) -> Noted:
    """Keep a note and tags in place of those before; nothing is kept where both are empty. Raises `InvalidInput`."""
    noted = Noted.parse({"note": note, "tags": split(tags)})
    if noted == Noted():
        forget(shelf, key)
        return noted
    text = json.dumps(noted.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
    require_room(len(text.encode()))
    make_folder(_folder())
    atomic_write(_path(shelf, key), text)
    return noted


def written(shelf: str) -> Mapping[str, Noted]:
    """key -> note and tags of everything on a shelf that has some; one that cannot be read says so in its note."""
    by_key, start = {}, f"{shelf}-"
    for path in _folder().glob(f"{start}*.json") if _folder().is_dir() else ():
        by_key[path.stem.removeprefix(start)] = _read(path)
    return by_key


def forget(shelf: str, key: str) -> None:
    """Remove them; none is fine."""
    with disk_errors("the note"):
        _path(shelf, key).unlink(missing_ok=True)


def _read(path: Path) -> Noted:
    try:
        content = read_whole(path, "note", MOST_BYTES, "The note is too large.")
        return Noted.parse(parse_json(content, f"`{path.name}`"))
    except (InvalidInput, OSError):
        return Noted(note=f"(The file of this note, {path.name[:40]}, cannot be read; a new note will replace it.)")


def _folder() -> Path:
    return home_folder() / "library" / "notes"


def _path(shelf: str, key: str) -> Path:
    if not _NAME.fullmatch(key):
        raise InvalidInput(f"`{key[:40]}` is not the key of an entry of the library; choose one from the list.")
    return _folder() / f"{shelf}-{key}.json"
