"""External tables stored by their content, so that an address that names one reopens with it on this machine.

    HOME/brought/<digest>/     manifest.json, arrays.safetensors: `values` and, where the file names them, `candidates`
                               and `rows`
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import numpy as np

from engine.basics.errors import MissingData
from engine.basics.folders import home_folder
from engine.basics.quota import require_room
from engine.external.header_row import NAMES, SCORES, FirstRow
from engine.external.table import Table
from engine.store import external_scores
from engine.store.results import Result, Store

KIND = "brought-table"


@dataclass(frozen=True)
class SavedTable:
    """What is known of a stored table without loading it. file: its name at its import; written: UTC, ISO 8601."""

    digest: str
    file: str
    key: str
    shape: tuple[int, int]
    written: str
    size: int


def digest_of(table: Table) -> str:
    """SHA-256 of values and names: the same table from another kind of file is the same."""
    digest = hashlib.sha256(repr(table.values.shape).encode())
    digest.update(np.ascontiguousarray(table.values).tobytes())
    if table.candidates is not None:
        digest.update(b"candidates" + np.ascontiguousarray(table.candidates).tobytes())
    if table.rows is not None:
        digest.update(b"rows" + np.ascontiguousarray(table.rows).tobytes())
    return digest.hexdigest()


def keep(table: Table, file: str) -> str:
    """Keep a table under the name of its file, whole or not at all; returns its digest. One that is there stays."""
    digest, shelf = digest_of(table), _shelf()
    if not shelf.has(digest):
        require_room(table.values.nbytes)
        names = {"candidates": table.candidates, "rows": table.rows}
        arrays = {"values": table.values, **{name: held for name, held in names.items() if held is not None}}
        shelf.write(digest, {"kind": KIND, "file": file[:200], "array": table.name, "shape": list(table.values.shape),
                             "first_row": table.first_row.kind, "remark": table.first_row.remark,
                             "order": table.remark}, arrays=arrays)
    return digest


def has(digest: str) -> bool:
    """Whether a table is on this machine."""
    return bool(re.fullmatch("[0-9a-f]{64}", digest)) and _shelf().has(digest)


def require(digest: str) -> None:
    """Raises `MissingData` where the table is not on this machine, `InvalidInput` for text that is no digest."""
    if not _shelf().has(digest):
        raise MissingData(f"The table of scores {digest[:12]} is not on this machine; import its file again.")


def load(digest: str) -> tuple[Table, SavedTable]:
    """Raises as `require` does, and where its files were altered."""
    result = external_scores.read_stored(digest, "table of scores")
    arrays, manifest = result.arrays(), result.manifest
    first_row = FirstRow(NAMES if manifest["first_row"] == NAMES else SCORES, manifest["remark"])
    return Table(arrays["values"], manifest["array"], arrays.get("candidates"), first_row, arrays.get("rows"),
                 manifest.get("order", "")), _saved(result)


@dataclass(frozen=True)
class Imports:
    """All that is stored, the newest first. tables: as their files hold them; scores: what was made of tables;
    unreadable: what became of the others, each a sentence, by digest."""

    tables: list[SavedTable]
    scores: list[Result]
    unreadable: dict[str, str]


def imports() -> Imports:
    """Read once."""
    results, unreadable = _shelf().listed("delete it, and import its source file again")
    by_kind = {kind: [result for result in results if result.manifest.get("kind") == kind]
               for kind in (KIND, external_scores.KIND)}
    return Imports([_saved(result) for result in by_kind[KIND]], by_kind[external_scores.KIND], unreadable)


def entries() -> list[SavedTable]:
    """All stored tables, the newest first."""
    return imports().tables


def delete(digest: str) -> None:
    """Forget a table with the scores that were made of it; one that is gone already is fine. Comparisons that name them
    ask for its file again."""
    for stored in external_scores.entries():
        if stored.manifest["facts"].get("table") == digest:
            _shelf().delete(stored.digest)
    _shelf().delete(digest)


def _saved(result: Result) -> SavedTable:
    manifest = result.manifest
    return SavedTable(result.digest, manifest["file"], manifest["array"], tuple(manifest["shape"]), manifest["written"],
                result.size)


def _shelf() -> Store:
    return Store(home_folder(), "brought")
