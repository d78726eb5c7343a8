"""A sealed folder: parquet tables and safetensors arrays under a manifest that vouches for every byte of them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.files import write_synced
from engine.basics.strict_json import parse_object
from engine.basics.values import canonical_json

if TYPE_CHECKING:
    import pandas as pd

IDENTITY = ("kind", "payload", "chunk", "spec", "specs", "data", "seeds")
"""Manifest keys that say which run it is: two manifests that agree in all of them are the same run."""

FORMAT = 1
"""Of what `fill` writes. This program reads every format up to it: who raises it teaches `verified` the older ones."""
MANIFEST, ARRAYS = "manifest.json", "arrays.safetensors"

def digest_of(data: Any) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of `data`; `InvalidInput` if JSON cannot hold it."""
    try:
        return hashlib.sha256(canonical_json(data).encode()).hexdigest()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"This value has no digest because JSON cannot represent it ({error}); use plain numbers, "
                           "text, lists and mappings.") from None


class Damage(Exception):
    """Why a folder cannot be trusted: the middle of a sentence."""


class NewerFormat(StoreError):
    """A folder was written by a later version: it is no damage, and stays where it is."""


def fill(draft: Path, digest: str, manifest: Mapping, tables: Mapping, arrays: Mapping) -> dict[str, Any]:
    """Write tables, arrays and, last, the manifest into the empty folder `draft`; return the manifest."""
    files = {}

    def save(name: str, content: bytes) -> None:
        write_synced(draft / name, content)
        files[name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}

    for name, table in tables.items():
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", name):
            raise InvalidInput(f"`{name}` cannot name a table; use letters, digits, `_`, `-` and `.`.")
        save(f"{name}.parquet", _parquet(name, table))
    if arrays:
        save(ARRAYS, _safetensors(arrays))
    written = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    record = {"written": written, **plain(manifest), "format": FORMAT, "digest": digest, "files": files}
    text = json.dumps({**record, "seal": _seal(record)}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    written_record = parse_object(text, "The manifest")  # nothing is written that would not be read again
    write_synced(draft / MANIFEST, text)
    return written_record


def _parquet(name: str, table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    try:
        table.to_parquet(buffer)
    except (ValueError, TypeError) as error:  # pyarrow's errors are both
        raise InvalidInput(f"Table `{name}` cannot be stored as parquet ({error}); give every column one type "
                           "and a text name.") from None
    return buffer.getvalue()


def _safetensors(arrays: Mapping[str, Any]) -> bytes:
    for name, array in arrays.items():
        if isinstance(array, np.ndarray | np.generic) and array.dtype.kind not in "bifuc":
            raise InvalidInput(f"Array `{name}` holds {array.dtype}, which is not numeric; put it into a table.")
    if not any(type(array).__module__.startswith("torch") for array in arrays.values()):
        from safetensors.numpy import save

        return save({name: np.array(array, order="C") for name, array in arrays.items()})
    import torch
    from safetensors.torch import save as save_tensors

    tensors = {name: torch.as_tensor(array).detach() for name, array in arrays.items()}
    return save_tensors({name: tensor.to("cpu", copy=True).contiguous() for name, tensor in tensors.items()})


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: arrays and tuples as lists, values as mappings, non-finite numbers as null."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise InvalidInput(f"A manifest cannot hold {type(value).__name__}; use numbers, text, lists and mappings.")


def identity_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a manifest that says which run it is."""
    return {key: manifest[key] for key in IDENTITY if key in manifest}


def _seal(record: Mapping[str, Any]) -> str:
    return digest_of({key: value for key, value in record.items() if key != "seal"})


def read_manifest(folder: Path, digest: str) -> dict[str, Any]:
    """The manifest of a folder that claims to be `digest`, its files unverified.

    Raises `Damage` if it is not one, `NewerFormat` if a later version wrote it.
    """
    try:
        record = parse_object((folder / MANIFEST).read_bytes(), "its manifest")
    except (FileNotFoundError, NotADirectoryError):
        raise Damage("its manifest is missing") from None
    except InvalidInput as error:
        raise Damage(str(error).partition(";")[0].removesuffix(".")) from None
    form = record.get("format")
    if isinstance(form, int) and form > FORMAT:
        raise NewerFormat(f"Result {digest[:12]} was written by a newer version of Whichfluence (format {form}; this "
                          f"one reads up to {FORMAT}); update this one, or give it another WHICHFLUENCE_HOME.")
    if record.get("digest") != digest:
        raise Damage(f"its manifest belongs to another result ({str(record.get('digest'))[:12]})")
    if not _is_sealed(record):
        raise Damage("its manifest was altered after it was written")
    if not _lists_files(record.get("files")) or not isinstance(record.get("written"), str):
        raise Damage("its manifest was not written by this program")
    return record


def _is_sealed(record: Mapping[str, Any]) -> bool:
    try:
        return record.get("seal") == _seal(record)
    except InvalidInput:
        return False


def _lists_files(files: Any) -> bool:
    return isinstance(files, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get("size"), int) and isinstance(entry.get("sha256"), str)
        for entry in files.values())


def verified(folder: Path, digest: str) -> dict[str, Any]:
    """The manifest of a folder, all files of which were checked; `Damage` says what is wrong."""
    record = read_manifest(folder, digest)
    with os.scandir(folder) as listing:
        present = {entry.name: entry.is_file(follow_symlinks=False) for entry in listing}
    for name in sorted({*present, *record["files"]} - {MANIFEST}):
        if name not in record["files"] or present.get(name) is False:
            raise Damage(f"`{name}` does not belong to it")
        if name not in present:
            raise Damage(f"`{name}` is missing")
        _verify_file(folder / name, record["files"][name])
    return record


def _verify_file(path: Path, expected: Mapping[str, Any]) -> None:
    try:
        size = path.stat().st_size
        if size != expected["size"]:
            raise Damage(f"`{path.name}` has {size} bytes instead of {expected['size']}")
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected["sha256"]:
                raise Damage(f"`{path.name}` was altered: its checksum differs")
    except FileNotFoundError:
        raise Damage(f"`{path.name}` is missing") from None
