"""Saved comparisons: a name, a note and the address that reopens the view, one small JSON file each.

    HOME/saved/<key>.json      {"format", "name", "note", "created", "address", "summary", "matrix"}

The address holds the whole choice, so nothing else needs to be kept: results are found again in the store. The matrix
is for the small picture in the library alone.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from pydantic import AfterValidator, Field, field_validator

from engine.basics.errors import InvalidInput, MissingData, StoreError
from engine.basics.files import atomic_write, disk_errors, make_folder
from engine.basics.folders import home_folder
from engine.basics.strict_json import parse_json
from engine.basics.values import Value
from engine.store.sketch import MOST

LONGEST_NAME, LONGEST_NOTE, LONGEST_ADDRESS = 100, 2_000, 8_000
FORMAT = 1
Correlation = Annotated[float, Field(ge=-1, le=1)] | None
Rows = tuple[Annotated[tuple[Correlation, ...], Field(max_length=MOST)], ...]
_KEY = re.compile(r"[0-9a-f]{12}")


def _short(note: str) -> str:
    if len(note) > LONGEST_NOTE:
        raise InvalidInput(f"The note has more than {LONGEST_NOTE:,} characters; shorten it.")
    return note.strip()


Note = Annotated[str, AfterValidator(_short)]


class Saved(Value):
    """What is kept of a comparison. address: the query string of the Compare page; summary: one line on what is in it;
    created: UTC, as ISO 8601; matrix: mean Kendall τ of its first specifications, None where it is not defined."""

    format: Annotated[int, Field(ge=1, le=FORMAT)] = FORMAT
    name: str
    note: Note = ""
    created: str
    address: Annotated[str, Field(max_length=LONGEST_ADDRESS)]
    summary: Annotated[str, Field(max_length=500)] = ""
    matrix: Annotated[Rows, Field(max_length=MOST)] = ()

    @field_validator("name")
    @classmethod
    def _named(cls, name: str) -> str:
        if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
            raise InvalidInput(f"The name must be one line of 1 to {LONGEST_NAME} characters; change it.")
        return name.strip()

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The address as parameters with their values."""
        return parse_qs(self.address)


@dataclass(frozen=True)
class StoredComparison:
    """A saved comparison with the key that names its file."""

    key: str
    saved: Saved


def address(parameters: Mapping[str, str | Sequence[str]]) -> str:
    """Parameters with their values as a query string."""
    return urlencode({name: value if isinstance(value, str) else list(value) for name, value in parameters.items()},
                     doseq=True)


def save(name: str, note: str, query: str, summary: str = "", matrix: Rows = ()) -> StoredComparison:
    """Keep a comparison under a new key. Raises `InvalidInput` for a name, note or address that is too long."""
    saved = Saved.parse({"name": name, "note": note, "address": query, "summary": summary[:500], "matrix": matrix,
                         "created": datetime.now(UTC).isoformat(timespec="seconds")})
    entry = StoredComparison(secrets.token_hex(6), saved)
    _write(entry)
    return entry


def change(key: str, name: str, note: str) -> StoredComparison:
    """Give a saved comparison another name and note."""
    data = load(key).saved.model_dump()
    entry = StoredComparison(key, Saved.parse({**data, "name": name, "note": note}))
    _write(entry)
    return entry


def load(key: str) -> StoredComparison:
    """Raises `MissingData` where it is gone, `InvalidInput` where its file is no saved comparison,
    `StoreError` where a newer version wrote it."""
    if not _KEY.fullmatch(key):
        raise InvalidInput(f"`{key[:40]}` is not the key of a saved comparison; choose one from the list.")
    try:
        given = parse_json(_path(key).read_bytes(), "The file")
        _check_format(given)
        return StoredComparison(key, Saved.parse(given))
    except FileNotFoundError:
        raise MissingData("This saved comparison is no longer there; it was deleted.") from None
    except StoreError:
        raise
    except (OSError, InvalidInput):
        raise InvalidInput(f"`{_path(key).name}` cannot be read as a saved comparison; delete it.") from None


def _check_format(given: Any) -> None:
    form = given.get("format") if isinstance(given, dict) else None
    if isinstance(form, int) and form > FORMAT:
        raise StoreError(f"It was saved by a newer version of Whichfluence (format {form}; this one reads up to "
                         f"{FORMAT}); update this one to open it.")


def stored_keys() -> list[str]:
    """The keys of all saved comparisons, those that cannot be read among them."""
    return sorted(path.stem for path in _folder().glob("*.json") if _KEY.fullmatch(path.stem)
                  ) if _folder().is_dir() else []


def entries() -> list[StoredComparison]:
    """All saved comparisons, the newest first; files that are none are passed over."""
    records = []
    for key in stored_keys():
        with suppress(InvalidInput, MissingData, StoreError):
            records.append(load(key))
    return sorted(records, key=lambda entry: (entry.saved.created, entry.key), reverse=True)


def delete(key: str) -> None:
    """Forget a saved comparison; one that is gone already is fine."""
    if not _KEY.fullmatch(key):
        raise InvalidInput(f"`{key[:40]}` is not the key of a saved comparison; choose one from the list.")
    with disk_errors("the saved comparison"):
        _path(key).unlink(missing_ok=True)


def _write(entry: StoredComparison) -> None:
    make_folder(_folder())
    atomic_write(_path(entry.key), json.dumps(entry.saved.model_dump(), indent=1, ensure_ascii=False) + "\n")


def _folder() -> Path:
    return home_folder() / "saved"


def _path(key: str) -> Path:
    return _folder() / f"{key}.json"
