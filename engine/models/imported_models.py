"""Trained weights and recordings that were imported, listed and deleted alike: HOME/models/own."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.basics.files import discard, disk_errors
from engine.basics.folders import home_folder
from engine.basics.sizes import spell_bytes
from engine.models.recorded import kept

_NAME = re.compile(r"(run|own)-[0-9a-f]{16}")


@dataclass(frozen=True)
class ImportedModel:
    """written: seconds since 1970; trouble: why it cannot be used."""

    name: str
    title: str
    summary: str
    written: float
    trouble: str = ""


def entries() -> list[ImportedModel]:
    """All of the current user."""
    models = []
    for path in sorted(_folder().glob("*")) if _folder().is_dir() else ():
        with suppress(OSError):  # removed meanwhile
            if _NAME.fullmatch(path.stem):
                models.append(_recording(path) if path.is_dir() else ImportedModel(
                    path.stem, f"Weights {path.stem}", spell_bytes(path.stat().st_size), path.stat().st_mtime))
    return models


def delete(name: str) -> None:
    """Forget one; one that is gone already is fine. Raises `InvalidInput` for what is no name of one."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"`{name[:60]}` is not the name of kept weights or of a recording; choose one of "
                           "the list.")
    with disk_errors(f"`{name}`"):
        (_folder() / f"{name}.safetensors").unlink(missing_ok=True)
        discard(_folder() / name, home_folder() / "tmp")


def _recording(path: Path) -> ImportedModel:
    try:
        summary, trouble = kept.facts(path.name).sentence, ""
    except WhichfluenceError as error:
        summary, trouble = "", str(error)
    return ImportedModel(path.name, f"Recorded training {path.name}", summary, path.stat().st_mtime, trouble)


def _folder() -> Path:
    return home_folder() / "models" / "own"
