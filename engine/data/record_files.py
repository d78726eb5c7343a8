"""Files of a user's own records, stored by content: HOME/uploads/records-DIGEST.jsonl."""

from __future__ import annotations

import hashlib

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.own_files import OwnFiles, Stored
from engine.basics.sizes import spell_bytes
from engine.basics.strict_json import in_utf8
from engine.data.records import parse_content, read_jsonl

MOST_FIRST, BLANK = 10_000_000, b"\xef\xbb\xbf \t\r\n"
FILES = OwnFiles("uploads", r"records-[0-9a-f]{24}\.jsonl", "a file of records", "choose one from the list",
                 hashed=True)
delete = FILES.delete


def entries() -> list[Stored]:
    """All stored files of the current user."""
    return [Stored(name, "Records for Language models", spell_bytes(size), written)
            for name, written, size in FILES.all()]


def first(name: str) -> str:
    """The prompt of its first record. Raises `InvalidInput` where it cannot be read."""
    with open(path_of(name), "rb") as file:
        line = file.readline(MOST_FIRST)
    return (read_jsonl(path_of(name)) if line.lstrip(BLANK).startswith(b"[") else parse_content(line))[0].prompt


def keep(content: bytes) -> str:
    """Check an uploaded JSONL and store it; returns where. Raises `InvalidInput`."""
    content = in_utf8(content)
    parse_content(content)
    name = f"records-{hashlib.sha256(content).hexdigest()[:24]}.jsonl"
    FILES.keep(name, content)
    return str(FILES.path(name))


def path_of(name: str) -> str:
    """The path of a stored file by its name, for an address. Raises `InvalidInput` if it is not there and whole."""
    try:
        return str(FILES.require(name))
    except (InvalidInput, MissingData):
        raise InvalidInput("the uploaded file is not on this machine, or is damaged; upload it again.") from None
