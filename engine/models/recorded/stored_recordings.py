"""Recordings imported to this machine, stored by content under HOME/models/own."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from torch import nn

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import discard, disk_errors, make_folder
from engine.basics.folders import home_folder
from engine.basics.own_files import OwnFiles
from engine.data.archive import open_zip
from engine.data.file_tree import of_zip
from engine.models.recorded.folder import FACTS, Recording, RecordingFacts, open_recording, read_facts

T = TypeVar("T")
SUFFIX, NOUN = ".zip", "zip of a recording"
MOST_BYTES, MOST_FILES = 2_000_000_000, 10_000
FOLDERS = OwnFiles("models/own", "run-[0-9a-f]{16}", "a stored recording", "give the recording again")
is_recording = FOLDERS.is_name
"""Whether stored weights are those of a recorded training, by their name."""


def keep(folder: Path, build: Callable[[], nn.Module] | None = None) -> str:
    """Keep the recording in a folder, and return its name `run-<digest>`. Raises as `open_recording` does, and
    `InvalidInput` where it is of another model than `build` makes; nothing is stored then."""
    run = open_recording(folder)
    if build:
        run.put(build(), 0)
    name = f"run-{run.digest}"
    target = FOLDERS.path(name)
    if target.exists() and not _is_whole(target):
        with disk_errors(f"the recording `{folder.name}`"):
            discard(target, home_folder() / "tmp")
    if not target.exists():
        draft = make_folder(target.parent) / f".{name}.{secrets.token_hex(4)}"
        try:
            with disk_errors(f"the recording `{folder.name}`"):
                draft.mkdir()
                for file in (FACTS, *run.facts.files):
                    shutil.copyfile(folder / file, draft / file)
                if not target.exists():  # another process may have been faster
                    os.rename(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return name


def _is_whole(folder: Path) -> bool:
    try:
        open_recording(folder)
    except (InvalidInput, MissingData):
        return False
    return True


def keep_zip(file: BinaryIO, build: Callable[[], nn.Module] | None = None) -> str:
    """The same for a zip of the folder. Raises `InvalidInput` for what is none."""
    with tempfile.TemporaryDirectory() as folder, open_zip(file, NOUN, MOST_BYTES) as archive:
        tree = of_zip(archive, NOUN, MOST_FILES)
        for name in tree.members:
            if name.endswith((".json", ".safetensors")):
                make_folder((Path(folder) / name).parent)
                (Path(folder) / name).write_bytes(tree.read(name))
        facts_at = sorted(Path(folder).rglob(FACTS))
        if len(facts_at) != 1:
            raise InvalidInput(f"The {NOUN} holds {len(facts_at)} files `{FACTS}` where there should be one; pack the "
                               "folder that a `Recorder` wrote.")
        return keep(facts_at[0].parent, build)


def load(name: str) -> Recording:
    """A stored recording. Raises `MissingData` where it is no longer there, or damaged."""
    return _stored(name, open_recording)


def facts(name: str) -> RecordingFacts:
    """Those of a stored recording, read alone. Raises as `load` does."""
    return _stored(name, read_facts)


def _stored(name: str, read: Callable[[Path], T]) -> T:
    folder = FOLDERS.require(name)
    try:
        return read(folder)
    except InvalidInput:
        raise MissingData(f"The stored recording `{name}` is damaged on this machine; {FOLDERS.remedy}.") from None


def content(name: str) -> str:
    """Its digest, which its name is; empty where it is not here."""
    return name if FOLDERS.has(name) and (FOLDERS.path(name) / FACTS).is_file() else ""
